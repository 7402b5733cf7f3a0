"""What the ONNX front end takes, and hostile files: one sentence each, before anything is allocated."""

from __future__ import annotations

import numpy as np
import pytest

from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.rng import uniform
from tests.pilots.graph.frontends.extras import need

(onnx,) = need("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - after the skip
from onnx.reference import ReferenceEvaluator  # noqa: E402

from pilots.graph.frontends import onnx as from_onnx  # noqa: E402
from pilots.graph.frontends.errors import FrontEndError, UnsupportedModel  # noqa: E402
from tests.pilots.graph.frontends.models_onnx import Builder  # noqa: E402

pytestmark = pytest.mark.frontends
X = uniform(1, "x", (2, 3, 4))
SHAPE = (2, 3, 4)


def built(build, shape=SHAPE, weights=None, kind=TensorProto.FLOAT) -> bytes:
    on = Builder(weights or {})
    return on.model(shape, build(on), kind)


def agrees(build, x=X, weights=None):
    kind = TensorProto.FLOAT if x.dtype == np.float32 else TensorProto.INT64
    data = built(build, x.shape, weights, kind)
    found = from_onnx.capture_bytes(data)
    (result,) = evaluate(found.graph, {"x": x} | found.weights).values()
    (expected,) = ReferenceEvaluator(onnx.load_from_string(data)).run(None, {"x": x})
    assert np.allclose(result.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
    return found


def chain(*ops):
    """Return a build of unary operations one after the other."""

    def build(on):
        value = "x"
        for op in ops:
            value = on(op, value)
        return value

    return build


def _over_axes(on):
    total = on("ReduceSum", "x", on.ints(0, 2), keepdims=0)
    return on("Add", total, on("ReduceMax", "x", on.ints(-1, 0), keepdims=0))


MODELS = {
    "unary": chain("Abs", "Sqrt", "Exp", "Log", "Neg", "Sin", "Cos", "Tanh", "Sigmoid", "Relu", "Identity"),
    "reciprocal": lambda on: on("Reciprocal", on("Add", on("Abs", "x"), on.number(1.0))),
    "arithmetic": lambda on: on("Div", on("Sub", on("Mul", "x", on.number(3)), "x"), on("Add", on("Abs", "x"), on.number(1))),
    "many": lambda on: on("Sum", on("Max", "x", on.number(0.5), on("Neg", "x")), on("Min", "x", "x"), "x"),
    "clip": lambda on: on("Clip", on("Clip", "x", on.number(-0.5)), "", on.number(0.5)),
    "pow": lambda on: on("Pow", on("Pow", on("Abs", "x"), on.number(0.5)), on.number(3)),
    "where": lambda on: on("Where", on("And", on("GreaterOrEqual", "x", on.number(0)), on("Not", on("Equal", "x", on.number(1)))), "x", on.number(2)),
    "or": lambda on: on("Cast", on("Or", on("Less", "x", on.number(0)), on("LessOrEqual", on.number(0.5), "x")), to=TensorProto.FLOAT),
    "moves": lambda on: on("Reshape", on("Transpose", on("Unsqueeze", "x", on.ints(0, -1)), perm=[2, 0, 3, 1, 4]), on.ints(0, -1)),
    "squeeze": lambda on: on("Squeeze", on("Unsqueeze", "x", on.ints(1)), on.ints(1)),
    "squeeze_all": lambda on: on("Squeeze", on("Unsqueeze", "x", on.ints(1))),
    "flatten": lambda on: on("Flatten", "x", axis=2),
    "slice": lambda on: on("Slice", "x", on.ints(-2, 0), on.ints(2**40, 3), on.ints(1, -1), on.ints(1, 1)),
    "split": lambda on: on("Concat", on("Split", "x", on.ints(1, 3), axis=-1, outputs=2), on("Split", "x", axis=2, outputs=2, num_outputs=2), axis=2),
    "pad": lambda on: on("Pad", "x", on.ints(0, 1, 0, 0, 0, 2)),
    "expand": lambda on: on("Expand", on("Slice", "x", on.ints(0), on.ints(1), on.ints(0)), on.ints(5, 3, 4)),
    "shape": lambda on: on("Reshape", "x", on("Concat", on("Gather", on("Shape", "x"), on.ints(0)), on.ints(-1), axis=0)),
    "mask": lambda on: on("Where", on("Less", on("Range", on("Constant", value_int=0), on("Constant", value_int=4), on("Constant", value_int=1)), on.ints(2)), "x", on.number(0)),
    "filled": lambda on: on("Add", "x", on("ConstantOfShape", on.ints(3, 4), value=numpy_helper.from_array(np.array([2.0], np.float32)))),
    "reduced": _over_axes,
    "all": lambda on: on("ReduceMean", "x", keepdims=0),
    "argmax": lambda on: on("ArgMax", "x", axis=1, keepdims=0),
    "rows": lambda on: on("LogSoftmax", on("Softmax", "x", axis=1)),
    "gelu": lambda on: on("Gelu", on("Gelu", "x", approximate="tanh")),
    "erf": lambda on: on("Erf", "x"),
    "batch_norm": lambda on: on("BatchNormalization", on("Transpose", "x", perm=[0, 2, 1]), "w", "w", "w", "p", epsilon=1e-3),
    "layer_norm": lambda on: on("LayerNormalization", "x", "w", "w", axis=2),
    "gemm": lambda on: on("Gemm", on("Squeeze", on("Slice", "x", on.ints(0), on.ints(1), on.ints(0)), on.ints(0)), "m", "w", transA=0, transB=1),
    "matmul": lambda on: on("MatMul", "x", on("Transpose", "x", perm=[0, 2, 1])),
    "dropout": lambda on: on("Dropout", "x"),
    "types": lambda on: on("Cast", on("Cast", "x", to=TensorProto.FLOAT16), to=TensorProto.FLOAT),
}  # fmt: skip
WEIGHTS = {"w": uniform(2, "w", (4,)), "m": uniform(3, "m", (4, 4)), "p": uniform(4, "p", (4,)) + 2}


@pytest.mark.parametrize("name", MODELS)
def test_operations_are_those_of_the_public_reference(name):
    agrees(MODELS[name], weights=WEIGHTS)


def test_pictures_and_tables():
    pictures = uniform(1, "x", (2, 3, 6, 6))
    kernel = {"k": uniform(2, "k", (4, 3, 3, 3)), "b": uniform(3, "b", (4,))}
    agrees(lambda on: on("AveragePool", on("Conv", "x", "k", "b", strides=[2, 2], pads=[1] * 4), kernel_shape=[3, 3]), pictures, kernel)  # fmt: skip
    agrees(lambda on: on("GlobalAveragePool", on("Conv", "x", "k")), pictures, kernel)
    agrees(lambda on: on("Gather", "m", "x"), np.array([[1, 0, 3]]), WEIGHTS)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_narrow_types(kind):
    model = onnx.load_from_string(built(lambda on: on("Add", "x", "w"), weights=WEIGHTS))
    model.graph.initializer[0].CopyFrom(helper.make_tensor("w", kind, [4], [1.0, 2.0, 0.5, -1.0]))
    model.graph.input[0].type.tensor_type.elem_type = kind
    found = from_onnx.capture_bytes(model.SerializeToString())
    assert found.weights["w"].tolist() == [1.0, 2.0, 0.5, -1.0]
    assert found.graph.dtype.item_bytes == 2


def refused(data: bytes) -> GraphError:
    with pytest.raises(GraphError) as caught:
        from_onnx.capture_bytes(data)
    assert isinstance(caught.value, FrontEndError)
    assert caught.value.message_de.endswith(".")
    return caught.value


def edited(change, build=lambda on: on("Add", "x", "w")) -> bytes:
    model = onnx.load_from_string(built(build, weights=WEIGHTS))
    change(model)
    return model.SerializeToString()


def _external(model):
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    entry = model.graph.initializer[0].external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"


def _dims(*dims):
    return lambda model: model.graph.initializer[0].dims.__setitem__(slice(None), dims)


def _input_dims(*dims):
    def change(model):
        shape = model.graph.input[0].type.tensor_type.shape
        del shape.dim[:]
        for dim in dims:
            entry = shape.dim.add()
            if isinstance(dim, str):
                entry.dim_param = dim
            elif dim is not None:
                entry.dim_value = dim

    return change


def _opset(version, domain=""):
    def change(model):
        del model.opset_import[:]
        model.opset_import.append(helper.make_opsetid(domain, version))

    return change


def _duplicate(model):
    model.graph.initializer.append(model.graph.initializer[0])


HOSTILE = {
    "external": (_external, "EXTERNAL"),
    "huge": (_dims(2**40, 2**40), "LIMIT"),
    "huge_single": (_dims(2**40), "LIMIT"),
    "longer": (_dims(5), "WEIGHTS"),
    "negative": (_dims(-4), "WEIGHTS"),
    "deep": (_dims(*[1] * 9), "LIMIT"),
    "no_numbers": (lambda m: m.graph.initializer[0].ClearField("raw_data"), "WEIGHTS"),
    "two_kinds": (lambda m: m.graph.initializer[0].float_data.append(1.0), "WEIGHTS"),
    "strings": (lambda m: m.graph.initializer[0].string_data.append(b"a"), "WEIGHTS"),
    "double": (lambda m: setattr(m.graph.initializer[0], "data_type", TensorProto.DOUBLE), "DTYPE"),
    "no_type": (lambda m: setattr(m.graph.initializer[0], "data_type", 9999), "DTYPE"),
    "duplicate_weight": (_duplicate, "NAME"),
    "duplicate_output": (lambda m: m.graph.node.append(m.graph.node[0]), "NAME"),
    "no_name": (lambda m: setattr(m.graph.initializer[0], "name", ""), "NAME"),
    "long_name": (lambda m: setattr(m.graph.initializer[0], "name", "w" * 201), "NAME"),
    "input_huge": (_input_dims(2**40, 2**40), "LIMIT"),
    "input_zero": (_input_dims(2, 0), "DYNAMIC"),
    "input_negative": (_input_dims(-1, 3), "DYNAMIC"),
    "input_dynamic": (_input_dims(2, "rows", 4), "DYNAMIC"),
    "input_unknown": (_input_dims(2, None), "DYNAMIC"),
    "input_deep": (_input_dims(*[1] * 9), "LIMIT"),
    "input_shapeless": (lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"), "SHAPE"),
    "input_sequence": (lambda m: m.graph.input[0].type.ClearField("tensor_type"), "SHAPE"),
    "input_double": (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", TensorProto.DOUBLE), "UNSUPPORTED"),
    "undefined": (lambda m: m.graph.node[0].input.__setitem__(0, "nowhere"), "UNDEFINED"),
    "undefined_output": (lambda m: setattr(m.graph.output[0], "name", "nowhere"), "UNDEFINED"),
    "no_nodes": (lambda m: m.graph.ClearField("node"), "EMPTY"),
    "no_outputs": (lambda m: m.graph.ClearField("output"), "EMPTY"),
    "functions": (lambda m: m.functions.add(), "PARTS"),
    "sparse": (lambda m: m.graph.sparse_initializer.add(), "PARTS"),
    "old": (_opset(12), "OPSET"),
    "new": (_opset(25), "OPSET"),
    "foreign": (_opset(23, "com.example"), "OPSET"),
    "not_finite": (lambda m: setattr(m.graph.initializer[0], "raw_data", np.full(4, np.nan, np.float32).tobytes()), "UNSUPPORTED"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_model_gives_one_sentence(name):
    change, code = HOSTILE[name]
    assert refused(edited(change)).code == code


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 64, b"hello", b"\x08" * 4096])
def test_bytes_that_are_no_model_are_refused(data):
    refused(data)


def test_flag_of_any_byte_is_a_flag():
    on = Builder({"mask": np.array([True, False, True, True])})
    data = on.model(SHAPE, on("Where", "mask", "x", on.number(0)))
    found = from_onnx.capture_bytes(data.replace(b"J\x04\x01\x00\x01\x01", b"J\x04\x19\x00\x01\xff"))
    (mask,) = (item for item in found.weights.values() if item.dtype == np.bool_)
    assert mask.tobytes() == np.broadcast_to(np.array([True, False, True, True]), mask.shape).tobytes()


def test_name_that_is_no_text_is_refused():
    data = built(lambda on: on("Relu", "x")).replace(b"relu_0", b"relu\xff\xfe")
    assert refused(data).code in {"NAME", "NOT_ONNX"}


def test_deeply_nested_file_is_refused():
    inner = b""
    for _ in range(20_000):
        size, head = len(inner), b""
        while size >= 0x80:
            head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
        inner = b"\x3a" + head + bytes([size]) + inner
        if len(inner) > 200_000:
            break
    refused(inner)


def nodes(*made, shape=SHAPE) -> bytes:
    """Return a model of raw nodes whose last output is the result."""

    def build(on):
        on.nodes.extend(made)
        return made[-1].output[0]

    return built(build, shape, WEIGHTS)


BODY = helper.make_graph([helper.make_node("Identity", ["x"], ["z"])], "body", [], [])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (nodes(helper.make_node("CumSum", ["x"], ["y"])), "keine Entsprechung"),
        (nodes(helper.make_node("Gelu", ["x"], ["y"], approximate="other")), "approximate"),
        (nodes(helper.make_node("If", ["x"], ["y"], then_branch=BODY, else_branch=BODY)), "keine Entsprechung"),
        (nodes(helper.make_node("Relu", ["x"], ["y"], body=BODY)), "Kontrollfluss"),
        (nodes(helper.make_node("Relu", [], ["y"])), "passen nicht"),
        (nodes(helper.make_node("Relu", ["x", "x"], ["y"])), "passen nicht"),
        (nodes(helper.make_node("Gemm", ["m", "m"], ["y"], alpha=2.0)), "alpha"),
        (nodes(helper.make_node("Transpose", ["x"], ["y"], perm=[0, 0, 1])), "Reihenfolge"),
        (nodes(helper.make_node("Transpose", ["x"], ["y"], perm=1.5)), "Liste"),
        (nodes(helper.make_node("Concat", ["x", "x"], ["y"], axis="a")), "ganze Zahl"),
        (nodes(helper.make_node("Reshape", ["x", "x"], ["y"])), "feste Liste"),
        (nodes(helper.make_node("Add", ["x", "m"], ["y"]), shape=(3, 5)), "Formen"),
        (nodes(helper.make_node("MatMul", ["x", "w"], ["y"])), "Vektor"),
        (nodes(helper.make_node("Conv", ["x", "m"], ["y"])), "Bilder"),
        (nodes(helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])), "Pooling"),
        (nodes(helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DOUBLE)), "Zahlentyp"),
        (nodes(helper.make_node("LayerNormalization", ["x", "w"], ["y", "mean"])), "Nebenergebnisse"),
    ],
)  # fmt: skip
def test_what_cannot_be_expressed_is_named(data, words):
    error = refused(data)
    assert isinstance(error, UnsupportedModel)
    assert words in error.message_de


@pytest.mark.parametrize(
    "build",
    [
        lambda on: on("Expand", on.number(1.0), on.ints(2**40)),
        lambda on: on("Expand", on("Reshape", on.number(1.0), on.ints(1, 1)), on.ints(2**20, 2**20)),
        lambda on: on("ConstantOfShape", on.ints(2**20, 2**20)),
        lambda on: on("ConstantOfShape", on.ints(-1)),
        lambda on: on("Range", on.ints(0), on.ints(2**40), on.ints(1)),
        lambda on: on("Range", on.ints(0), on.ints(4), on.ints(0)),
        lambda on: on("Reshape", "x", on.ints(-1, -1)),
        lambda on: on("Reshape", "x", on.ints(0, 0, 0, 0)),
        lambda on: on("Reshape", "x", on.ints(5)),
        lambda on: on("Slice", "x", on.ints(0), on.ints(4), on.ints(7)),
        lambda on: on("Slice", "x", on.ints(3), on.ints(3), on.ints(2)),
        lambda on: on("Split", "x", on.ints(1, 1), axis=2, outputs=2),
        lambda on: on("Unsqueeze", "x", on.ints(0, 0)),
        lambda on: on("Gather", on.ints(1, 2), on.ints(7)),
        lambda on: on("Squeeze", "x", on.ints(0)),
        lambda on: on("Pad", "x", on.ints(-1, 0, 0, 0, 0, 0)),
    ],
)
def test_shapes_that_lie_are_refused_before_memory_is_taken(build):
    on = Builder({})
    value = build(on)
    refused(on.model(SHAPE, on("Identity", value)))


def test_open_batch_goes_through_products_and_no_further_than_it_may():
    found = from_onnx.capture_bytes(
        built(lambda on: on("Softmax", on("MatMul", "x", "m")), ("n", 4), WEIGHTS)
    )
    assert found.graph.inputs[0][1].shape == (None, 4)
    error = refused(built(lambda on: on("ReduceSum", "x", on.ints(0)), ("n", 4)))
    assert "Stapelgröße" in error.message_de
