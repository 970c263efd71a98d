"""Models of others, of random weights: what is recorded is what they themselves return.

Packages that aren't part of the tests' environment come with `make test-clients`.
"""
import importlib
import os
import warnings

import pytest
import torch

from d2l_ext import record_attention

IDS = 3 + torch.arange(14).reshape(2, 7) * 3 % 47
REAL = torch.arange(7) < torch.tensor([[7], [4]])
SIZES = dict(vocab_size=50, hidden_size=24, num_hidden_layers=2, num_attention_heads=6,
             intermediate_size=40, max_position_embeddings=32, pad_token_id=0, bos_token_id=1,
             eos_token_id=2)
GROUPS = SIZES | {"num_key_value_heads": 2}
CONFIGS = {  # each with what makes it worth trying
    "Bert": SIZES,
    "GPT2": dict(vocab_size=50, n_embd=24, n_layer=2, n_head=6, n_positions=32),
    "T5": dict(vocab_size=50, d_model=24, d_kv=4, d_ff=40, num_layers=2, num_heads=6),  # biases
    "Llama": GROUPS,
    "Mistral": GROUPS | {"sliding_window": 3},
    "DeepseekV3": SIZES | dict(  # latent keys and values
        num_key_value_heads=6, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4,
        qk_nope_head_dim=4, v_head_dim=4, n_routed_experts=4, num_experts_per_tok=2, n_group=2,
        topk_group=1, moe_intermediate_size=8, first_k_dense_replace=1),
    "ViT": dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=6, intermediate_size=40,
                image_size=32, patch_size=8),
}


def client(name):
    """A package, or a skip that names it."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:  # RuntimeError: made for another PyTorch
        pytest.skip(f"{name}: {type(error).__name__}: {error}"[:150])


def recorded(model, *args, **kwargs):
    """The output, the same to the last bit, and the weights by name; nothing was left out."""
    with torch.no_grad(), warnings.catch_warnings():
        wanted = model(*args, **kwargs)
        warnings.filterwarnings("error", "record_attention")
        with record_attention(model) as seen:
            output = model(*args, **kwargs)
    assert torch.equal(output[0], wanted[0])
    return output, seen


# ---- Hugging Face --------------------------------------------------------------------------------

def hugging_face(name):
    transformers = client("transformers")
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**CONFIGS[name])
    model = transformers.AutoModel.from_config(config, attn_implementation="sdpa").eval()
    if name == "ViT":
        return model, {"pixel_values": torch.randn(2, 3, 32, 32)}
    given = {"input_ids": IDS, "attention_mask": REAL.long()}
    return model, given | ({"decoder_input_ids": IDS[:, :5]} if name == "T5" else {})


def returned(model, given):
    """The weights that the library returns on its slow path, in the order of the modules."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(**given, output_attentions=True)
    model.set_attn_implementation("sdpa")
    if "encoder_attentions" not in output:
        return output["attentions"]
    decoder = zip(output["decoder_attentions"], output["cross_attentions"])
    return (*output["encoder_attentions"], *(each for pair in decoder for each in pair))


@pytest.mark.parametrize("name", CONFIGS)
def test_hugging_face(name):
    model, given = hugging_face(name)
    _, seen = recorded(model, **given)
    theirs = returned(model, given)
    assert len(seen) == len(theirs) == (6 if name == "T5" else 2)
    for (where, (ours,)), wanted in zip(seen.items(), theirs):
        rows = ours.shape[2]
        real = REAL[:, :rows] if name != "ViT" and rows == 7 else torch.ones(2, rows).bool()
        # A query that is padding may see nothing: both then answer as they like.
        furthest = (ours - wanted).transpose(1, 2)[real].abs().max()
        assert furthest < 1e-5, where
    model.set_attn_implementation("eager")  # the softmax is written out
    with torch.no_grad(), record_attention(model) as slowly:
        model(**given)
    assert slowly.keys() == seen.keys()
    assert all(torch.equal(slowly[where][0], wanted) for where, wanted in zip(slowly, theirs))


@pytest.mark.parametrize("name", ["GPT2", "Llama", "Mistral", "DeepseekV3"])
@pytest.mark.parametrize("masked", [False, True])
def test_one_query_with_a_cache(name, masked):
    model, given = hugging_face(name)
    ids, mask = given["input_ids"], given["attention_mask"].flip(1)  # padding on the left
    masks = [{"attention_mask": each} if masked else {} for each in (mask[:, :6], mask)]
    with torch.no_grad():
        before = model(ids[:, :6], use_cache=True, **masks[0])
        _, whole = recorded(model, ids, **masks[1])
        with record_attention(model) as seen:
            model(ids[:, 6:], past_key_values=before.past_key_values, **masks[1])
    for where, (weights,) in seen.items():
        last = whole[where][0][:, :, -1:, -weights.shape[-1]:]  # a window's cache forgets
        assert weights.shape[1:3] == (6, 1)
        torch.testing.assert_close(weights, last, atol=1e-5, rtol=1e-4)


SAID = {  # what can't be seen of them, or not all
    "Longformer": (dict(attention_window=4), "its last axis is not the keys"),
    "BigBird": (dict(block_size=4, num_random_blocks=1, attention_type="block_sparse"),
                "5 maps in one call"),
    "Nystromformer": (dict(num_landmarks=4, segment_means_seq_len=64), "3 maps in one call"),
    "Mamba": (dict(state_size=4), "nothing was recorded: Mamba"),
    "FNet": ({}, "nothing was recorded: FNet"),
    "Qwen3Next": (dict(
        num_hidden_layers=4, num_key_value_heads=2, head_dim=8, num_experts=2,
        num_experts_per_tok=1, moe_intermediate_size=8, shared_expert_intermediate_size=8,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
        linear_value_head_dim=8), "'layers.0', 'layers.1', 'layers.2': shows no"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAID)
def test_what_is_not_seen_changes_no_bit_and_is_said(name):
    transformers, (change, words) = client("transformers"), SAID[name]
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(
        **SIZES | {"max_position_embeddings": 128} | change)
    model, ids = transformers.AutoModel.from_config(config).eval(), IDS[:, :4].repeat(1, 16)
    with torch.no_grad():
        wanted = model(ids)[0]
        with pytest.warns(UserWarning, match=words), record_attention(model):
            assert torch.equal(model(ids)[0], wanted)
