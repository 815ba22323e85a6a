"""Where jobs are run: `local` processes, or a `ray` cluster."""
