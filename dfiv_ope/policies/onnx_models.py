"""ONNX models as functions of observations."""

from collections.abc import Callable
import pathlib
from typing import Any

import numpy as np


def load(
  path: pathlib.Path, *, num_observations: int, output: str = 'probabilities'
) -> Callable[[np.ndarray], Any]:
  """Returns a function that asks a model.

  Args:
    path: of the model.
    num_observations: D of the observations it will be asked about.
    output: name of the output that is taken, if there are several.

  Raises:
    ValueError: it is not a model, or one for other inputs.
  """
  try:
    import onnxruntime
  except ImportError as error:
    raise ValueError(
      f'{path} needs onnxruntime: pip install "dfiv-ope[formats]".'
    ) from error
  content = path.read_bytes()
  # The key of an entry of external_data: the digest would miss that file.
  if b'\x0a\x08location\x12' in content:
    raise ValueError(
      f'{path} keeps its weights in another file. Save it as one file, in '
      'PyTorch by torch.onnx.export(..., external_data=False).'
    )
  options = onnxruntime.SessionOptions()
  options.log_severity_level = 4  # what goes wrong is raised
  options.intra_op_num_threads = options.inter_op_num_threads = 1
  try:
    session = onnxruntime.InferenceSession(
      content, options, providers=['CPUExecutionProvider']
    )
  except Exception as error:  # its types are not public
    words = ' '.join(str(error).split())
    raise ValueError(
      f'{path} cannot be loaded as an ONNX model: '
      f'{type(error).__name__}: {words}'
    ) from error
  inputs, outputs = session.get_inputs(), session.get_outputs()
  shape = inputs[0].shape if len(inputs) == 1 else []
  if (
    len(shape) != 2
    or inputs[0].type != 'tensor(float)'
    or isinstance(shape[0], int)
    or (isinstance(shape[1], int) and shape[1] != num_observations)
  ):
    found = ', '.join(f'{each.type} {each.shape}' for each in inputs)
    raise ValueError(
      f'{path} takes {found or "nothing"}, but a policy for this log takes '
      f'one input tensor(float) of shape [N, {num_observations}], with any '
      'N. Export it with a dynamic first axis.'
    )
  # Classifiers of scikit-learn return labels as well.
  names = [each.name for each in outputs]
  if len(names) > 1 and output not in names:
    raise ValueError(
      f'{path} returns {", ".join(names)}. Export a model with one output, '
      f'or call one of them {output}.'
    )
  name = names[0] if len(names) == 1 else output

  def run(observation: np.ndarray) -> Any:
    # The model declares tensor(float).
    return session.run(
      [name], {inputs[0].name: observation.astype(np.float32)}
    )[0]

  return run
