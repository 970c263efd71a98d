"""Models of transformers, of random weights: what is recorded is what they themselves return.

The package comes with `make test-clients`.
"""
import os
import warnings

import pytest
import torch

from d2l_ext import record_attention

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")
transformers.logging.set_verbosity_error()

IDS = 3 + torch.arange(14).reshape(2, 7) * 3 % 47
REAL = torch.arange(7) < torch.tensor([[7], [4]])
SIZES = dict(vocab_size=50, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, head_dim=4,
             intermediate_size=40, max_position_embeddings=32, pad_token_id=0, bos_token_id=1,
             eos_token_id=2)
GROUPS = SIZES | {"num_key_value_heads": 2}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 8}
PIXELS = SIZES | {"image_size": 32, "patch_size": 8}
ALIKE = """Albert Bert BertGeneration BioGpt Camembert Electra Ernie Esm EuroBert ModernBert
    NomicBert GPTNeoX Persimmon Phi Roberta XLMRoberta""".split()
GROUPED = """Arcee Cohere2 Gemma Gemma3Text Glm4 Granite Helium Llama Nemotron Olmo2 Phi3 Qwen2
    Qwen3 SmolLM3 StableLm Starcoder2""".split()
GPT2 = dict(vocab_size=50, n_embd=24, n_layer=2, n_head=6, n_positions=32)
CONFIGS = dict.fromkeys(ALIKE, SIZES) | dict.fromkeys(GROUPED, GROUPS) | {
    "GPT2": GPT2, "GPTBigCode": GPT2,
    "Falcon": {name: size for name, size in SIZES.items() if name != "head_dim"},
    "OPT": SIZES | {"ffn_dim": 40, "word_embed_proj_dim": 24},
    "Mistral": GROUPS | {"sliding_window": 3},
    "Mixtral": GROUPS | EXPERTS | {"num_local_experts": 4},
    "DeepseekV3": SIZES | EXPERTS | dict(  # latent keys and values
        num_key_value_heads=6, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4,
        qk_nope_head_dim=4, v_head_dim=4, n_routed_experts=4, n_group=2, topk_group=1,
        first_k_dense_replace=1),
    "T5": dict(vocab_size=50, d_model=24, d_kv=4, d_ff=40, num_layers=2, num_heads=6),  # biases
    "Bart": dict(vocab_size=50, d_model=24, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=40,
                 decoder_ffn_dim=40, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "ViT": PIXELS,
    "Dinov2": PIXELS | {"mlp_ratio": 2},
    "Swin": dict(image_size=32, patch_size=4, embed_dim=24, depths=[1, 1], num_heads=[6, 6],
                 window_size=4),  # windows stand in the batch
}


def model_of(name, attention="sdpa"):
    """A model and what to run it on."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**CONFIGS[name])
    model = transformers.AutoModel.from_config(config, attn_implementation=attention).eval()
    if model.main_input_name == "pixel_values":
        return model, {"pixel_values": torch.randn(2, 3, 32, 32)}
    given = {"input_ids": IDS, "attention_mask": REAL.long()}
    pairs = model.config.is_encoder_decoder
    return model, given | ({"decoder_input_ids": IDS[:, :5]} if pairs else {})


def recorded(model, *args, **kwargs):
    """The weights by name; no bit of the output changes, and nothing is left out."""
    with torch.no_grad(), warnings.catch_warnings():
        wanted = model(*args, **kwargs)
        warnings.filterwarnings("error", "record_attention")
        with record_attention(model) as seen:
            output = model(*args, **kwargs)
    assert torch.equal(output[0], wanted[0])
    return seen


def returned(name):
    """The weights that the library returns on its slow path, in the order of the modules; recorded,
    this path is refused."""
    model, given = model_of(name, "eager")
    with pytest.raises(ValueError, match='saw no attention in .* with attn_implementation="sdpa"'):
        with torch.no_grad(), record_attention(model):
            output = model(**given, output_attentions=True)
    if "encoder_attentions" not in output:
        return output["attentions"]
    decoder = zip(output["decoder_attentions"], output["cross_attentions"])
    return (*output["encoder_attentions"], *(each for pair in decoder for each in pair))


@pytest.mark.parametrize("name", CONFIGS)
def test_weights_are_those_that_the_model_returns(name):
    model, given = model_of(name)
    ours = [call for calls in recorded(model, **given).values() for call in calls]
    theirs = returned(name)
    assert len(ours) == len(theirs) == (6 if model.config.is_encoder_decoder else 2)
    for mine, wanted in zip(ours, theirs):
        if "pixel_values" not in given and mine.shape[2] == 7:
            # A query that is padding may see nothing: both then answer as they like.
            mine, wanted = (each.transpose(1, 2)[REAL] for each in (mine, wanted))
        torch.testing.assert_close(mine, wanted, atol=1e-5, rtol=0)


REFUSED = {  # what else the configuration has, and a module that attends in another way
    "Longformer": (dict(attention_window=4), "'encoder.layer.0.attention.self'"),
    "BigBird": (dict(block_size=4, num_random_blocks=1), "'encoder.layer.0.attention.self'"),
    "Nystromformer": (dict(num_landmarks=4, segment_means_seq_len=64), "'encoder.layer.0"),
    "DebertaV2": ({}, "'encoder.layer.0.attention.self'"),
    "Bloom": (dict(n_head=6, n_layer=2), "'h.0.self_attention'"),
    "GptOss": (EXPERTS | dict(num_key_value_heads=2, num_local_experts=4), "'layers.0.self_attn'"),
    "Mamba": (dict(state_size=4), "MambaModel"),
    "FNet": ({}, "FNetModel"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_other_attention_changes_no_bit_and_is_refused_by_name(name):
    change, where = REFUSED[name]
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(
        **SIZES | {"max_position_embeddings": 128} | change)
    model, ids = transformers.AutoModel.from_config(config).eval(), IDS[:, :4].repeat(1, 16)
    with torch.no_grad():
        wanted = model(ids)[0]
        with pytest.raises(ValueError, match=f"saw no attention in .*{where}"):
            with record_attention(model):
                output = model(ids)[0]
    assert torch.equal(output, wanted)
