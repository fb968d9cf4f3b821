#!/usr/bin/env python3
"""Exports networks of many kinds with random weights, with inputs and PyTorch's outputs, to try edgewright on.

usage: export_zoo.py OUT_DIR [NAME ...] [--core] [--list]

For each NAME it writes OUT_DIR/NAME/{program.pt2,inputs.safetensors,outputs.safetensors}; keys are leaf numbers. Networks that
keep state between calls get several calls: inputs.safetensors, inputs_1.safetensors, ... `--core` decomposes to core ATen first.
Sizes are small (most files stay under 30 MB); norms have statistics and weights as if trained, so that signals stay alive.
Needs torch, safetensors, and for the networks that are not written here torchvision, transformers and timm.
"""
import argparse
import copy
import math
import pathlib
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
REGISTRY = {}
IMAGE = (1, 3, 96, 96)


def model(fn):
    REGISTRY[fn.__name__] = fn
    return fn


class Field(nn.Module):
    """One named result of a network, called with named inputs."""

    def __init__(self, inner, field, *names):
        super().__init__()
        self.inner, self.field, self.names = inner, field, names

    def forward(self, *args):
        return self.inner(**dict(zip(self.names, args)))[self.field]


def torchvision_models():
    if "torchvision" not in sys.modules:  # its models load even where its compiled ops do not fit this torch
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms", "roi_align", "qroi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"):
            library.define(f"{name}(Tensor a) -> Tensor")
        for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"):
            library.define(f"_{name}_backward(Tensor a) -> Tensor")
        globals()["_kept"] = library
    import torchvision
    return torchvision.models


def vision(name, size=96, **options):
    def make():
        return getattr(torchvision_models(), name)(**options), [(torch.randn(1, 3, size, size),)]
    REGISTRY[name] = make


for name in ("efficientnet_b0", "convnext_tiny", "densenet121", "shufflenet_v2_x1_0", "squeezenet1_1", "mnasnet0_5", "regnet_y_400mf", "resnext50_32x4d"):
    vision(name)
vision("swin_t")
vision("swin_v2_t", 128)
vision("googlenet", aux_logits=False, init_weights=False)
vision("alexnet", 224)
vision("maxvit_t", 224)


@model
def lraspp():
    return Field2(torchvision_models().segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None), "out"), [(torch.randn(IMAGE),)]


class Field2(nn.Module):
    def __init__(self, inner, field):
        super().__init__()
        self.inner, self.field = inner, field

    def forward(self, x):
        return self.inner(x)[self.field]


def from_timm(name, size=96):
    def make():
        torchvision_models()
        import timm
        return timm.create_model(name, pretrained=False), [(torch.randn(1, 3, size, size),)]
    REGISTRY[name] = make


for name, size in (("mobilevit_xxs", 128), ("mobilenetv4_conv_small", 96), ("ghostnet_100", 96), ("levit_128s", 224), ("efficientformer_l1", 224),
                   ("mixer_s32_224", 224), ("deit_tiny_patch16_224", 224), ("edgenext_xx_small", 128), ("fastvit_t8", 128), ("poolformer_s12", 96),
                   ("coatnet_nano_rw_224", 224), ("hrnet_w18_small", 96)):
    from_timm(name, size)


@model
def bert():
    from transformers import BertConfig, BertModel
    m = BertModel(BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128))
    mask = torch.ones(2, 24, dtype=torch.int64)
    mask[1, 15:] = 0
    return Field(m, "last_hidden_state", "input_ids", "attention_mask"), [(torch.randint(0, 500, (2, 24)), mask)]


@model
def distilbert():
    from transformers import DistilBertConfig, DistilBertModel
    m = DistilBertModel(DistilBertConfig(vocab_size=500, dim=64, n_layers=2, n_heads=4, hidden_dim=128))
    return Field(m, "last_hidden_state", "input_ids"), [(torch.randint(0, 500, (2, 24)),)]


@model
def roberta():
    from transformers import RobertaConfig, RobertaModel
    m = RobertaModel(RobertaConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128))
    return Field(m, "last_hidden_state", "input_ids"), [(torch.randint(2, 500, (1, 24)),)]


@model
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    m = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=4, n_positions=64, use_cache=False))
    return Field(m, "logits", "input_ids"), [(torch.randint(0, 500, (1, 24)),)]


def decoder(kind, **more):
    import transformers
    config = getattr(transformers, kind + "Config")(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                                    intermediate_size=128, max_position_embeddings=64, use_cache=False, **more)
    return Field(getattr(transformers, kind + "ForCausalLM")(config), "logits", "input_ids"), [(torch.randint(0, 500, (1, 24)),)]


@model
def llama():
    return decoder("Llama")


@model
def qwen2():
    return decoder("Qwen2")


@model
def qwen3():
    return decoder("Qwen3", head_dim=16)


@model
def gemma2():
    return decoder("Gemma2", head_dim=16)


@model
def phi3():
    return decoder("Phi3", pad_token_id=0)


@model
def t5_encoder():
    from transformers import T5Config, T5EncoderModel
    m = T5EncoderModel(T5Config(vocab_size=500, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4))
    return Field(m, "last_hidden_state", "input_ids"), [(torch.randint(0, 500, (1, 24)),)]


def whisper():
    from transformers import WhisperConfig, WhisperModel
    return WhisperModel(WhisperConfig(vocab_size=500, num_mel_bins=20, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                      encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=50, max_target_positions=32, pad_token_id=0, bos_token_id=1,
                                      eos_token_id=2, decoder_start_token_id=1, use_cache=False))


@model
def whisper_encoder():
    return Field(whisper().get_encoder(), "last_hidden_state", "input_features"), [(torch.randn(1, 20, 100),)]


@model
def whisper_decoder():
    return Field(whisper().get_decoder(), "last_hidden_state", "input_ids", "encoder_hidden_states"), [(torch.randint(0, 500, (1, 8)), torch.randn(1, 50, 64))]


@model
def clip():
    from transformers import CLIPConfig, CLIPModel
    c = CLIPConfig(text_config=dict(vocab_size=500, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=20, bos_token_id=498, eos_token_id=499),
                   vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=16), projection_dim=32)
    ids = torch.randint(0, 498, (2, 12))
    ids[:, -1] = 499
    return Field(CLIPModel(c), "logits_per_image", "input_ids", "pixel_values"), [(ids, torch.randn(1, 3, 64, 64))]


@model
def dinov2():
    from transformers import Dinov2Config, Dinov2Model
    m = Dinov2Model(Dinov2Config(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=14))
    return Field(m, "last_hidden_state", "pixel_values"), [(torch.randn(1, 3, 56, 56),)]


@model
def segformer():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    m = SegformerForSemanticSegmentation(SegformerConfig(hidden_sizes=[16, 32, 64, 64], decoder_hidden_size=32, depths=[1, 1, 1, 1], num_labels=5))
    return Field(m, "logits", "pixel_values"), [(torch.randn(1, 3, 64, 64),)]


@model
def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC
    m = Wav2Vec2ForCTC(Wav2Vec2Config(vocab_size=32, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=[32] * 7, num_conv_pos_embeddings=16,
                                      num_conv_pos_embedding_groups=4))
    return Field(m, "logits", "input_values"), [(torch.randn(1, 4000),)]


@model
def mamba():
    from transformers import MambaConfig, MambaForCausalLM
    m = MambaForCausalLM(MambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, state_size=4, use_cache=False))
    return Field(m, "logits", "input_ids"), [(torch.randint(0, 100, (1, 6)),)]


@model
def wav2letter():
    """Convolutions over time, from a wave to letters."""
    layers, width = [nn.Conv1d(1, 32, 250, 160, 45), nn.ReLU()], 32
    for out, kernel in [(32, 48)] + [(32, 7)] * 4 + [(64, 32), (64, 1)]:
        layers += [nn.Conv1d(width, out, kernel, padding=kernel // 2), nn.ReLU()]
        width = out

    class Wav2Letter(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(*layers, nn.Conv1d(width, 29, 1))

        def forward(self, x):
            return F.log_softmax(self.layers(x), dim=1)
    return Wav2Letter(), [(torch.randn(1, 1, 6000),)]


@model
def edsr():
    """Super-resolution: residual blocks, pixel shuffle."""
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

        def forward(self, x):
            return x + self.b(F.relu(self.a(x))) * 0.1

    class Edsr(nn.Module):
        def __init__(self, c=32):
            super().__init__()
            self.head, self.body, self.last = nn.Conv2d(3, c, 3, padding=1), nn.Sequential(*[Block(c) for _ in range(4)]), nn.Conv2d(c, c, 3, padding=1)
            self.up, self.tail = nn.Sequential(nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2)), nn.Conv2d(c, 3, 3, padding=1)
            self.register_buffer("mean", torch.tensor([0.45, 0.44, 0.40]).view(1, 3, 1, 1))

        def forward(self, x):
            x = self.head(x - self.mean)
            return self.tail(self.up(x + self.last(self.body(x)))) + self.mean
    return Edsr(), [(torch.rand(1, 3, 24, 32),)]


@model
def emformer():
    """Streaming attention: a segment with the left context and a memory that earlier calls left behind."""
    class Layer(nn.Module):
        def __init__(self, d, heads, left):
            super().__init__()
            self.heads, self.left = heads, left
            self.q, self.kv, self.out = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
            self.norm, self.ffn = nn.LayerNorm(d), nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
            self.register_buffer("key", torch.zeros(1, left, d))
            self.register_buffer("value", torch.zeros(1, left, d))
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            b, t, d = x.shape
            y = self.norm(x)
            q = self.q(torch.cat([y, y.mean(1, keepdim=True)], 1))
            k, v = self.kv(y).chunk(2, -1)
            k, v = torch.cat([self.key, k], 1), torch.cat([self.value, v], 1)
            hidden = torch.arange(k.shape[1], device=x.device) < self.left - self.seen
            split = lambda z: z.view(b, -1, self.heads, d // self.heads).transpose(1, 2)
            scores = split(q) @ split(k).transpose(-1, -2) / math.sqrt(d // self.heads)
            y = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ split(v)
            y = self.out(y.transpose(1, 2).reshape(b, t + 1, d))
            self.key.copy_(k[:, -self.left:])
            self.value.copy_(v[:, -self.left:])
            self.seen.copy_(torch.clamp(self.seen + t, max=self.left))
            x = x + y[:, :t] + torch.tanh(y[:, t:])
            return x + self.ffn(x)
    return nn.Sequential(nn.Linear(20, 32), Layer(32, 4, 6), Layer(32, 4, 6), nn.Linear(32, 10)), [(torch.randn(1, 4, 20),) for _ in range(3)]


@model
def llama_cache():
    """A decoder with a key-value cache: one token per call, at a position given from outside."""
    class Attention(nn.Module):
        def __init__(self, d, heads, kv, length):
            super().__init__()
            self.heads, self.kv, self.h = heads, kv, d // heads
            self.q, self.k, self.v, self.o = nn.Linear(d, d, False), nn.Linear(d, kv * self.h, False), nn.Linear(d, kv * self.h, False), nn.Linear(d, d, False)
            self.register_buffer("keys", torch.zeros(1, kv, length, self.h))
            self.register_buffer("values", torch.zeros(1, kv, length, self.h))

        def forward(self, x, position, cos, sin, mask):
            b, t, _ = x.shape
            split = lambda z, n: z.view(b, t, n, self.h).transpose(1, 2)
            q, k, v = split(self.q(x), self.heads), split(self.k(x), self.kv), split(self.v(x), self.kv)
            turn = lambda z: z * cos + torch.cat([-z[..., self.h // 2:], z[..., :self.h // 2]], -1) * sin
            q, k = turn(q), turn(k)
            self.keys[:, :, position] = k
            self.values[:, :, position] = v
            k, v = self.keys.repeat_interleave(self.heads // self.kv, 1), self.values.repeat_interleave(self.heads // self.kv, 1)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return self.o(y.transpose(1, 2).reshape(b, t, -1))

    class Block(nn.Module):
        def __init__(self, d, heads, kv, length):
            super().__init__()
            self.n1, self.a, self.n2 = nn.RMSNorm(d), Attention(d, heads, kv, length), nn.RMSNorm(d)
            self.gate, self.up, self.down = nn.Linear(d, 2 * d, False), nn.Linear(d, 2 * d, False), nn.Linear(2 * d, d, False)

        def forward(self, x, *at):
            x = x + self.a(self.n1(x), *at)
            y = self.n2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Llama(nn.Module):
        def __init__(self, d=64, heads=4, kv=2, layers=2, vocab=200, length=32):
            super().__init__()
            self.embed, self.blocks, self.norm, self.head = nn.Embedding(vocab, d), nn.ModuleList([Block(d, heads, kv, length) for _ in range(layers)]), nn.RMSNorm(d), nn.Linear(d, vocab, False)
            self.length = length
            angle = torch.outer(torch.arange(length).float(), 10000 ** (-torch.arange(0, d // heads, 2).float() / (d // heads)))
            angle = torch.cat([angle, angle], -1)
            self.register_buffer("cos", angle.cos())
            self.register_buffer("sin", angle.sin())

        def forward(self, token, position):
            x = self.embed(token)
            mask = torch.where(torch.arange(self.length) <= position[:, None], 0.0, float("-inf"))
            for block in self.blocks:
                x = block(x, position, self.cos[position], self.sin[position], mask)
            return self.head(self.norm(x))
    return Llama(), [(torch.randint(0, 200, (1, 1)), torch.tensor([i])) for i in range(4)]


def conv(i, o, k=1, s=1, act=True):
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU() if act else nn.Identity())


@model
def yolo():
    """A detector: cross-stage blocks, pooled pyramid, upsampling neck, heads over three scales decoded to boxes."""
    class Csp(nn.Module):
        def __init__(self, i, o, add=True):
            super().__init__()
            self.a, self.b = conv(i, o), conv(o + o // 2, o)
            self.m1, self.m2, self.add = conv(o // 2, o // 2, 3), conv(o // 2, o // 2, 3), add

        def forward(self, x):
            y = list(self.a(x).chunk(2, 1))
            z = self.m2(self.m1(y[-1]))
            y.append(y[-1] + z if self.add else z)
            return self.b(torch.cat(y, 1))

    class Sppf(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = conv(c, c // 2), conv(2 * c, c)

        def forward(self, x):
            y = [self.a(x)]
            for _ in range(3):
                y.append(F.max_pool2d(y[-1], 5, 1, 2))
            return self.b(torch.cat(y, 1))

    class Yolo(nn.Module):
        def __init__(self, classes=6, bins=8):
            super().__init__()
            self.s1 = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), Csp(32, 32), conv(32, 48, 3, 2), Csp(48, 48))
            self.s2, self.s3 = nn.Sequential(conv(48, 64, 3, 2), Csp(64, 64)), nn.Sequential(conv(64, 96, 3, 2), Csp(96, 96), Sppf(96))
            self.up1, self.up2 = Csp(160, 64, False), Csp(112, 48, False)
            self.down1, self.down2 = conv(48, 48, 3, 2), conv(64, 64, 3, 2)
            self.out1, self.out2 = Csp(112, 64, False), Csp(160, 96, False)
            self.box = nn.ModuleList([nn.Sequential(conv(c, 32, 3), nn.Conv2d(32, 4 * bins, 1)) for c in (48, 64, 96)])
            self.cls = nn.ModuleList([nn.Sequential(conv(c, 32, 3), nn.Conv2d(32, classes, 1)) for c in (48, 64, 96)])
            self.bins = bins
            self.register_buffer("bin", torch.arange(bins, dtype=torch.float32))

        def forward(self, x):
            p3 = self.s1(x)
            p4 = self.s2(p3)
            p5 = self.s3(p4)
            n4 = self.up1(torch.cat([F.interpolate(p5, scale_factor=2), p4], 1))
            n3 = self.up2(torch.cat([F.interpolate(n4, scale_factor=2), p3], 1))
            n4 = self.out1(torch.cat([self.down1(n3), n4], 1))
            n5 = self.out2(torch.cat([self.down2(n4), p5], 1))
            boxes, scores, anchors, strides = [], [], [], []
            for i, y in enumerate((n3, n4, n5)):
                h, w = y.shape[2:]
                boxes.append(self.box[i](y).flatten(2))
                scores.append(self.cls[i](y).flatten(2))
                gy, gx = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
                anchors.append(torch.stack([gx, gy]).flatten(1))
                strides.append(torch.full((1, h * w), 8.0 * 2 ** i))
            anchors, strides = torch.cat(anchors, 1), torch.cat(strides, 1)
            b = torch.cat(boxes, 2)
            distance = (b.view(1, 4, self.bins, -1).softmax(2) * self.bin.view(1, 1, -1, 1)).sum(2)
            lt, rb = distance.split(2, 1)
            low, high = anchors - lt, anchors + rb
            return torch.cat([torch.cat([(low + high) / 2, high - low], 1) * strides, torch.cat(scores, 2).sigmoid()], 1)
    return Yolo(), [(torch.rand(1, 3, 64, 96),)]


@model
def unet():
    class Double(nn.Sequential):
        def __init__(self, i, o):
            super().__init__(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.LeakyReLU(0.1))

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.d1, self.d2, self.d3 = Double(3, 16), Double(16, 32), Double(32, 64)
            self.u2, self.u1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.c2, self.c1, self.out = Double(64, 32), Double(48, 16), nn.Conv2d(16, 2, 1)

        def forward(self, x):
            a = self.d1(x)
            b = self.d2(F.max_pool2d(a, 2))
            c = self.u2(self.d3(F.max_pool2d(b, 2)))
            c = F.pad(c, (0, b.shape[3] - c.shape[3], 0, b.shape[2] - c.shape[2]))
            y = self.u1(self.c2(torch.cat([b, c], 1)))
            y = F.pad(y, (0, a.shape[3] - y.shape[3], 0, a.shape[2] - y.shape[2]), mode="replicate")
            return self.out(self.c1(torch.cat([a, y], 1)))
    return Unet(), [(torch.randn(1, 3, 45, 38),)]


@model
def gru():
    class Gru(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.GRU(12, 24, 2, batch_first=True, bidirectional=True), nn.Linear(48, 5)

        def forward(self, x, h):
            y, h = self.rnn(x, h)
            return self.out(y), h
    return Gru(), [(torch.randn(2, 9, 12), torch.randn(4, 2, 24))]


@model
def lstm_cell():
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.gru = nn.LSTMCell(10, 16), nn.GRUCell(16, 8)

        def forward(self, x, h, c, g):
            out = []
            for t in range(x.shape[0]):
                h, c = self.cell(x[t], (h, c))
                g = self.gru(h, g)
                out.append(g)
            return torch.stack(out), h, c
    return Steps(), [(torch.randn(4, 3, 10), torch.randn(3, 16), torch.randn(3, 16), torch.randn(3, 8))]


@model
def pointnet():
    class Pointnet(nn.Module):
        def __init__(self):
            super().__init__()
            block = lambda i, o: nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU())
            self.t, self.tf = nn.Sequential(block(3, 32), block(32, 64)), nn.Linear(64, 9)
            self.a, self.b, self.head = block(3, 32), block(32, 128), nn.Sequential(nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 7))

        def forward(self, x):
            turn = self.tf(self.t(x).amax(2)).view(-1, 3, 3) + torch.eye(3)
            return self.head(self.b(self.a(torch.bmm(x.transpose(1, 2), turn).transpose(1, 2))).max(2).values)
    return Pointnet(), [(torch.randn(2, 3, 50),)]


@model
def transformer():
    """nn.Transformer: encoder and decoder, both masks."""
    class Seq2Seq(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)

        def forward(self, a, b):
            return self.t(a, b, tgt_mask=nn.Transformer.generate_square_subsequent_mask(b.shape[1]), tgt_is_causal=True)
    return Seq2Seq(), [(torch.randn(1, 10, 32), torch.randn(1, 7, 32))]


@model
def recommender():
    """Embedding bags, feature crosses, a wide and a deep part."""
    class Dlrm(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList([nn.EmbeddingBag(50, 16, mode=m) for m in ("sum", "mean", "max")])
            self.low, self.top = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16)), nn.Sequential(nn.Linear(22, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

        def forward(self, dense, ids):
            x = self.low(dense)
            f = torch.stack([x] + [bag(ids[:, i]) for i, bag in enumerate(self.bags)], 1)
            i, j = torch.tril_indices(4, 4, -1)
            return self.top(torch.cat([x, torch.bmm(f, f.transpose(1, 2))[:, i, j]], 1))
    return Dlrm(), [(torch.randn(3, 6), torch.randint(0, 50, (3, 3, 4)))]


@model
def spiking_state():
    """Counters, running statistics and an in-place ring buffer."""
    class State(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.Linear(8, 8)
            self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
            self.register_buffer("mean", torch.zeros(8))
            self.register_buffer("ring", torch.zeros(4, 8))

        def forward(self, x):
            self.count += 1
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.ring.copy_(torch.roll(self.ring, 1, 0))
            self.ring[0] = x[0]
            return self.bn(x - self.mean) + self.ring.sum(0), self.count * 2
    return State(), [(torch.randn(5, 8),) for _ in range(3)]


def enliven(module):
    """Statistics, scales and biases as training leaves them; random initial ones would let the signal fade out or explode."""
    for m in module.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm) and m.running_var is not None:
            m.running_mean.normal_(0, 0.1), m.running_var.uniform_(0.5, 1.5)
            if m.weight is not None:
                m.weight.data.uniform_(0.8, 1.2), m.bias.data.normal_(0, 0.1)
    for name, p in module.named_parameters():
        if name.endswith(("gamma", "layer_scale", "layer_scale1", "lambda1")) and p.abs().max() < 1e-2:
            p.data.fill_(0.5)  # layer scales start near 0


def export(name, folder, core):
    from safetensors.torch import save_file
    torchvision_models()  # transformers imports it, too
    torch.manual_seed(0)
    module, calls = REGISTRY[name]()
    module.eval()
    enliven(module)
    tensors = lambda tree: {str(i): t.detach().contiguous().clone() for i, t in enumerate(torch.utils._pytree.tree_flatten(tree)[0]) if isinstance(t, torch.Tensor)}
    with torch.no_grad():
        program = torch.export.export(copy.deepcopy(module), calls[0], strict=False)
        if core:
            program = program.run_decompositions()
        d = pathlib.Path(folder) / name
        d.mkdir(parents=True, exist_ok=True)
        torch.export.save(program, d / "program.pt2")
        for i, call in enumerate(calls):
            end = f"_{i}" if i else ""
            save_file(tensors(call), d / f"inputs{end}.safetensors")
            save_file(tensors(module(*call)), d / f"outputs{end}.safetensors")
    print(f"{name}: {(d / 'program.pt2').stat().st_size / 1e6:.1f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list or not options.out_dir:
        print("\n".join(REGISTRY))
        return 0
    failed = 0
    for name in options.names or REGISTRY:
        try:
            export(name, options.out_dir, options.core)
        except Exception as error:
            failed += 1
            print(f"{name}: not exported: {type(error).__name__}: {str(error)[:300]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
