"""What to say of a name that is not known: the nearest one, and all others."""

from collections.abc import Iterable, Sequence
import difflib

_CUTOFF = 0.6


def near(name: str, known: Iterable[str]) -> str | None:
  """Returns the known name that is most like another, None if none is.

  Args:
    name: as it was written; capitals and small letters are the same.
    known: the names there are.
  """
  folded = {each.casefold(): each for each in known}
  nearest = difflib.get_close_matches(
    name.casefold(), folded, n=1, cutoff=_CUTOFF
  )
  return folded[nearest[0]] if nearest else None


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
  """Returns the sentence that refuses a name.

      unknown('method', 'lsdt', ['lstd', 'kiv'])
      "There is no method 'lsdt': did you mean lstd? Choose from lstd, kiv."

  Args:
    kind: what is named, in one or two words.
    name: as it was written.
    known: the names there are, in the order in which they are listed.
  """
  guess = near(name, known)
  hint = '.' if guess is None else f': did you mean {guess}?'
  return f'There is no {kind} {name!r}{hint} Choose from {", ".join(known)}.'


def require(kind: str, name: str, known: Sequence[str]) -> None:
  """Refuses a name that is none of some.

  Args:
    kind: what is named, in one or two words.
    name: as it was written.
    known: the names there are, in the order in which they are listed.

  Raises:
    ValueError: the name is not known.
  """
  if name not in known:
    raise ValueError(unknown(kind, name, known))
