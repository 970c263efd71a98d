"""Right code hears that it is right in every order of its operations, and in both types."""
import pytest
import torch
from loud import WAYS, attention

from attention_lessons.exercises import check, find
from d2l_ext.attention import merge_heads, split_heads

each_way = pytest.mark.parametrize("scores, dtype", WAYS)


@each_way
def test_functions(scores, dtype):
    def self_attention(X, W_q, W_k, W_v, valid_len):
        X, W_q, W_k, W_v = (each.to(dtype) for each in (X, W_q, W_k, W_v))
        keep = torch.ones(len(X), len(X)).tril().bool() & (torch.arange(len(X)) < valid_len)
        return attend(X @ W_q.T, X @ W_k.T, X @ W_v.T, keep)[0]

    attend = attention(scores, dtype)
    assert check("pooling", attend).state == "right"
    assert check("self-attention", self_attention).state == "right"


@pytest.mark.parametrize("name", ["multi-head-class", "self-attention-class"])
@each_way
def test_classes(name, scores, dtype):
    def attend(self, queries, keys, values, keep):
        q, k, v = (split_heads(project(X), self.num_heads) for project, X in (
            (self.W_q, queries), (self.W_k, keys), (self.W_v, values)))
        _, weights = attention(scores, dtype)(q, k, v, keep)
        weights = torch.nn.functional.dropout(weights, self.p, self.training).to(v.dtype)
        return self.W_o(merge_heads(weights @ v))

    right = find(name).right
    assert check(name, type("Ordered", (right,), {"attend": attend})).state == "right"
