"""The reference models in PyTorch. Weights are shared with JAX and ONNX through `weights` of each model."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.head = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        pooled = F.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.head(pooled.flatten(1))


class Encoder(nn.Module):
    """LayerNorm, softmax attention written out, GELU."""

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.width // self.heads).transpose(1, 2)

    def forward(self, x):
        normed = self.norm1(x)
        q, k, v = (self.split(part(normed)) for part in (self.q, self.k, self.v))
        scores = torch.softmax(q @ k.transpose(2, 3) * 0.5, dim=-1)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Decoder(nn.Module):
    """RoPE from tables, grouped queries, RMSNorm, SwiGLU."""

    def __init__(self, width: int = 16, heads: int = 4, kv_heads: int = 2, rows: int = 5) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        kv = kv_heads * self.size
        self.q, self.k, self.v = (nn.Linear(width, item, bias=False) for item in (width, kv, kv))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 24, bias=False) for _ in range(2))
        self.down = nn.Linear(24, width, bias=False)
        angle = torch.outer(torch.arange(rows), 10_000.0 ** (-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", torch.cat([angle, angle], -1).cos())
        self.register_buffer("sin", torch.cat([angle, angle], -1).sin())

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.size).transpose(1, 2)

    def turn(self, x):
        left, right = x[..., : self.size // 2], x[..., self.size // 2 :]
        return x * self.cos + torch.cat([-right, left], -1) * self.sin

    def forward(self, x):
        normed = self.norm1(x)
        q = self.turn(self.split(self.q(normed), self.heads))
        k = self.turn(self.split(self.k(normed), self.kv_heads))
        v = self.split(self.v(normed), self.kv_heads)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(seen.transpose(1, 2).reshape(x.shape))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Embedder(nn.Module):
    """Mean of token vectors, scored against all tokens with the same table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 8)

    def forward(self, ids):
        pooled = self.table(ids).mean(1)
        return pooled @ self.table.weight.T


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.relu(torch.cumsum(x, 1)) + torch.sort(x, 1).values


def seeded(module):
    """Give a module the same weights on every machine."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for item in module.parameters():
            item.copy_(torch.randn(item.shape, generator=generator) * 0.3)
    return module.eval()
