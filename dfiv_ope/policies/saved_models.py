"""What a SavedModel would run, read from its file without running any of it.

A SavedModel is a program: loading it runs the initialisers it brings along,
and asking it runs its graph, which may read and write files. So before one is
loaded, every operation in it is compared with a list of those that compute and
do nothing else.

    for name in saved_models.foreign_operations(path):
      print(f'{name} is not among them')
"""

from collections.abc import Callable, Iterator
import contextlib
import importlib
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  import tensorflow as tf
  from tensorflow.core.framework import node_def_pb2
  from tensorflow.core.protobuf import meta_graph_pb2

FILE = 'saved_model.pb'
_INIT = '__saved_model_init_op'
_MAIN = ('saved_model_main_op', 'legacy_init_op')
_PATTERN = frozenset('[]*?{}\\')

# Arithmetic, shapes, variables, calls, control flow, random numbers, tables in
# memory: these read their inputs and nothing else.
_NAMES = """
Abs Acos Acosh Add AddN AddV2 All Any ApproximateEqual ArgMax ArgMin Asin
Asinh Assert AssignAddVariableOp AssignSubVariableOp AssignVariableOp Atan
Atan2 Atanh AvgPool BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchToSpaceND
BiasAdd Bitcast BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastTo
Bucketize Case Cast Ceil CheckNumerics Cholesky ClipByValue Complex Concat
ConcatV2 Const Conv2D Conv3D Cos Cosh Cross Cumprod Cumsum DenseBincount
DepthToSpace DepthwiseConv2dNative DestroyResourceOp Diag DiagPart Digamma
DisableCopyOnRead Div DivNoNan DynamicPartition DynamicStitch Einsum Elu Empty
EmptyTensorList EnsureShape Enter Equal Erf Erfc Erfinv Exit Exp ExpandDims
Expm1 Fill Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormV2
FusedBatchNormV3 Gather GatherNd GatherV2 Greater GreaterEqual HashTableV2
Identity IdentityN If Imag InTopKV2 InvertPermutation IsFinite IsInf IsNan
L2Loss LRN LeakyRelu LeftShift Less LessEqual Lgamma LinSpace Log Log1p
LogSoftmax LogicalAnd LogicalNot LogicalOr LookupTableFindV2
LookupTableImportV2 LookupTableSizeV2 LoopCond MatMul MatrixBandPart
MatrixDiag MatrixDiagPart MatrixDiagPartV3 MatrixDiagV3 MatrixInverse
MatrixSolve MatrixTriangularSolve Max MaxPool Maximum Mean Merge Min Minimum
MirrorPad Mod Mul MulNoNan Multinomial MutableHashTableV2 Ndtri Neg
NextIteration NoOp NotEqual OneHot OnesLike Pack Pad PadV2 ParallelConcat
PartitionedCall Placeholder PlaceholderWithDefault Pow PreventGradient Prod Qr
RandomStandardNormal RandomUniform RandomUniformInt Range Rank ReadVariableOp
Real RealDiv Reciprocal Relu Relu6 Reshape ResourceGather ResourceGatherNd
ReverseV2 RightShift Rint Roll Round Rsqrt ScatterNd SegmentMax SegmentMean
SegmentMin SegmentSum Select SelectV2 Selu Shape ShapeN Sigmoid Sign Sin Sinh
Size Slice Snapshot Softmax Softplus Softsign SpaceToBatchND SpaceToDepth
SparseSoftmaxCrossEntropyWithLogits Split SplitV Sqrt Square SquaredDifference
Squeeze StatefulPartitionedCall StatelessCase StatelessIf StatelessMultinomial
StatelessRandomGetKeyCounter StatelessRandomNormalV2 StatelessRandomUniformV2
StatelessWhile StopGradient StridedSlice Sub Sum Switch Tan Tanh
TensorListConcatV2 TensorListElementShape TensorListFromTensor
TensorListGather TensorListGetItem TensorListLength TensorListPopBack
TensorListPushBack TensorListReserve TensorListSetItem TensorListStack
TensorScatterAdd TensorScatterUpdate Tile TopKV2 Transpose TruncateDiv
TruncateMod Unpack UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentSum
VarHandleOp VarIsInitializedOp VariableShape Where While Xdivy Xlog1py Xlogy
ZerosLike
"""
_COMPUTES = frozenset(_NAMES.split())

# What every SavedModel has to write and read its own variables. Loading does
# not run it, as long as nothing that is loaded calls it.
_SAVES = frozenset(
  {
    'MergeV2Checkpoints',
    'RestoreV2',
    'SaveV2',
    'ShardedFilename',
    'StaticRegexFullMatch',
    'StringJoin',
  }
)

# All that a policy of somebody else may hold.
KNOWN = _COMPUTES | _SAVES


def require(path: pathlib.Path) -> None:
  """Refuses a directory without a SavedModel.

  Raises:
    FileNotFoundError: there is none.
  """
  if not (path / FILE).is_file():
    raise FileNotFoundError(
      f'{path} holds no policy (no {FILE}). Make one with '
      '`dfiv-ope policy train`.'
    )


def load(path: pathlib.Path, *, trusted: bool) -> Any:
  """Loads a SavedModel of which all operations only compute.

  Args:
    path: its directory.
    trusted: load it even if its operations may do more.

  Raises:
    FileNotFoundError: there is no SavedModel at the path.
    ValueError: it is broken, or may do more than compute.
  """
  import tensorflow as tf

  require(path)
  foreign = [] if trusted else foreign_operations(path)
  if foreign:
    raise ValueError(
      f'The policy in {path} holds {", ".join(foreign[:5])}, which may do '
      'more than compute, such as read or write files. It was not loaded. '
      'If you trust whoever made it, say --trust-policy.'
    )
  if b'optimizer' in (path / FILE).read_bytes():
    with contextlib.suppress(ImportError):  # As TensorFlow itself does.
      importlib.import_module('keras.src.optimizers')
  try:
    with plain_path(path) as plain:
      return tf.saved_model.load(str(plain))
  except Exception as error:  # TensorFlow raises many types for broken files.
    raise ValueError(
      f'{path} cannot be loaded as a SavedModel: {error}'
    ) from error


def ask_once(
  function: Callable[['tf.Tensor'], Any],
  path: pathlib.Path,
  *,
  num_observations: int,
) -> tuple[Any, 'tf.DType']:
  """Asks a function of a SavedModel about one observation of zeros.

  Args:
    function: of observations [B, D].
    path: of the SavedModel, for the message.
    num_observations: D.

  Returns:
    Its answer, and the precision that it takes: float64 if it can be.

  Raises:
    ValueError: it takes other observations.
  """
  import tensorflow as tf

  refused: Exception | None = None
  for dtype in (tf.float64, tf.float32):
    try:
      return function(tf.zeros([1, num_observations], dtype)), dtype
    except (TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
      refused = error
  raise ValueError(
    f'The policy in {path} does not accept {num_observations} observation '
    'entries. Was it trained for another task?'
  ) from refused


def foreign_operations(path: pathlib.Path) -> list[str]:
  """Returns what a SavedModel holds beside operations that only compute.

  Args:
    path: its directory.

  Returns:
    Names of operations, sorted; empty if there is none.

  Raises:
    FileNotFoundError: there is no SavedModel.
    ValueError: its file cannot be read.
  """
  from tensorflow.core.protobuf import saved_model_pb2

  try:
    content = (path / FILE).read_bytes()
    graphs = saved_model_pb2.SavedModel.FromString(content).meta_graphs
  except FileNotFoundError:
    raise
  except Exception as error:  # protocol buffers have types of their own
    raise ValueError(
      f'{path} cannot be loaded as a SavedModel: {error}.'
    ) from error
  if len(graphs) != 1 or not graphs[0].HasField('object_graph_def'):
    # Loading one of these runs its graph at once.
    return ['a graph of TensorFlow 1']
  return sorted(set(_foreign(graphs[0])))


def _foreign(graph: 'meta_graph_pb2.MetaGraphDef') -> Iterator[str]:
  called = _called(graph)
  for function in graph.graph_def.library.function:
    allowed = _COMPUTES if function.signature.name in called else KNOWN
    yield from (node.op for node in function.node_def if node.op not in allowed)
  yield from (node.op for node in graph.graph_def.node if node.op not in KNOWN)
  yield from _initialisers(graph)


def _called(graph: 'meta_graph_pb2.MetaGraphDef') -> set[str]:
  """Returns the functions that what is loaded may call."""
  library = graph.graph_def.library
  result = set(graph.object_graph_def.concrete_functions)
  for function in library.function:
    for node in function.node_def:
      result.update(_functions(node))
  for gradient in library.gradient:
    result.add(gradient.gradient_func)
  result.update(each.gradient_func for each in library.registered_gradients)
  return result


def _functions(node: 'node_def_pb2.NodeDef') -> Iterator[str]:
  for value in node.attr.values():
    if value.HasField('func'):
      yield value.func.name
    yield from (each.name for each in value.list.func)


def _initialisers(graph: 'meta_graph_pb2.MetaGraphDef') -> Iterator[str]:
  """Yields what would run on loading and does something."""
  kinds = {node.name: node.op for node in graph.graph_def.node}
  names = (
    []
    if _INIT not in graph.signature_def
    else [each.name for each in graph.signature_def[_INIT].outputs.values()]
  )
  names += [
    each
    for key in _MAIN
    if key in graph.collection_def
    for each in graph.collection_def[key].node_list.value
  ]
  for name in names:
    kind = kinds.get(name.split(':')[0], 'an unknown operation')
    if kind != 'NoOp':
      yield f'{kind} as initialiser'


@contextlib.contextmanager
def plain_path(path: pathlib.Path) -> Iterator[pathlib.Path]:
  """Gives another name of a directory, if its own is a pattern.

  TensorFlow looks for the variables of a SavedModel with a pattern, in which
  [ ] * ? of the path mean something else than themselves.
  """
  if not _PATTERN.intersection(str(path.absolute())):
    yield path
    return
  with tempfile.TemporaryDirectory() as folder:
    plain = pathlib.Path(folder) / 'model'
    plain.symlink_to(path.resolve())
    yield plain
