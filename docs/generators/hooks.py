"""What MkDocs asks while it builds the site: pages that are made of the code.

`commands.md` comes from the commands, pages of methods get what their registry
entries and docs/results say, notebooks become pages, and CHANGELOG.md and
CONTRIBUTING.md are pages as well. Nothing is written twice.
"""

import pathlib
import re
from typing import Any

import command_page
import equations
import method_pages
from mkdocs.structure import files as files_lib
import notebook_pages

_ROOT = pathlib.Path(__file__).resolve().parents[2]
# Packages outside dfiv_ope that install inside it.
_MAPPED = ('agents', 'envs', 'datasets', 'launch')
# Pages that are files of the repository's root.
_ROOT_PAGES = {
  'changelog.md': 'CHANGELOG.md',
  'contributing.md': 'CONTRIBUTING.md',
}
_LINK = re.compile(r'(?<!!)\[([^\]]+)\]\(([^)\s]+)\)')


def on_startup(command: str, dirty: bool) -> None:
  """Lays the packages out as they install, before plugins look for them."""
  del command, dirty
  _lay_out(_ROOT / 'build' / 'api' / 'dfiv_ope')


def on_config(config: Any) -> Any:
  """Lists the methods' pages."""
  _fill(config.nav)
  return config


def on_files(files: files_lib.Files, config: Any) -> files_lib.Files:
  """Adds the pages that are made."""
  made = {'commands.md': command_page.markdown()}
  for name, source in _ROOT_PAGES.items():
    text = (_ROOT / source).read_text(encoding='utf-8')
    made[name] = text.replace('](docs/', '](').replace(
      '(CHANGELOG.md)', '(changelog.md)'
    )
  for path in sorted((_ROOT / 'docs' / 'notebooks').glob('*.ipynb')):
    made[f'notebooks/{path.stem}.md'] = notebook_pages.markdown(path)
  for name, text in made.items():
    files.append(files_lib.File.generated(config, name, content=text))
  return files


def on_page_markdown(
  markdown: str, page: Any, config: Any, files: files_lib.Files
) -> str:
  """Fills pages of methods, and mends what only a repository can show."""
  uri = page.file.src_uri
  if uri == 'methods.md':
    markdown = method_pages.linked(markdown)
  elif uri.startswith('methods/'):
    markdown = method_pages.filled(uri, markdown)
  return equations.rendered(_without_dead_links(markdown, uri))


def on_post_page(output: str, page: Any, config: Any) -> str:
  """Names the theme's search for those who hear a page."""
  return output.replace(
    'data-md-component="search" role="dialog"',
    'data-md-component="search" role="dialog" aria-label="Search"',
  )


def _without_dead_links(markdown: str, uri: str) -> str:
  """Turns links to files that are not of the site into their text.

  Those to files of the repository's root that are pages lead to these.
  """
  here = (_ROOT / 'docs' / uri).parent

  def mend(found: re.Match[str]) -> str:
    text, target = found.groups()
    path, mark, anchor = target.partition('#')
    if not path or '://' in path or path.startswith('mailto:'):
      return found[0]
    if path.endswith('.ipynb') and not uri.startswith('notebooks/'):
      return f'[{text}]({target.replace(".ipynb", ".md")})'
    full = (here / path).resolve()
    for page, source in _ROOT_PAGES.items():
      if full == _ROOT / source:
        up = '../' * uri.count('/')
        return f'[{text}]({up}{page}{mark}{anchor})'
    if full.is_dir() or not full.is_relative_to(_ROOT / 'docs'):
      return text
    return found[0]

  parts = re.split(r'(```.*?```)', markdown, flags=re.DOTALL)
  return ''.join(
    part if part.startswith('```') else _LINK.sub(mend, part) for part in parts
  )


def _fill(items: list[Any]) -> None:
  """Puts the pages of a room's methods where the navigation names it."""
  for item in items:
    for name, value in item.items() if isinstance(item, dict) else ():
      if isinstance(value, list):
        _fill(value)
      elif value.startswith('methods/') and value.endswith('/'):
        item[name] = [
          {label: f'{value}{method}.md'}
          for method, label in method_pages.labels(value.split('/')[1]).items()
        ]


def _lay_out(directory: pathlib.Path) -> None:
  """Makes a tree of links in which every package lies inside dfiv_ope."""
  directory.mkdir(parents=True, exist_ok=True)
  for source in (
    *(_ROOT / 'dfiv_ope').iterdir(),
    *(_ROOT / name for name in _MAPPED),
  ):
    link = directory / source.name
    if not link.is_symlink() and source.name != '__pycache__':
      link.symlink_to(source)
