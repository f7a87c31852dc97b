// Small trained networks, run in a page. The weights are those of export.py; tests compare every layer with
// torch.
//
// A tensor is {c, s, n, d}: c channels at s × s positions (s = 1: a vector) of n samples. The sample is the
// fastest index, d[(position * c + channel) * n + sample], so that the inner loops run through neighbouring
// numbers.
const Engine = (() => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  function halves(text) {  // float16 in base64 -> float64
    const words = new Uint16Array(bytes(text).buffer), numbers = new Float64Array(words.length);
    words.forEach((word, k) => {
      const sign = word >> 15 ? -1 : 1, exponent = (word >> 10) & 31, fraction = word & 1023;
      numbers[k] = sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
    });
    return numbers;
  }

  const tensor = (c, s, n) => ({ c, s, n, d: new Float64Array(c * s * s * n) });
  const copy = (x) => ({ ...x, d: x.d.slice() });

  function samples(x, from, to) {  // some of the samples
    const y = tensor(x.c, x.s, to - from);
    for (let row = 0; row < x.c * x.s * x.s; row++)
      y.d.set(x.d.subarray(row * x.n + from, row * x.n + to), row * y.n);
    return y;
  }

  // Weights (q, p, k, k) in blocks of four outputs, so that the inner loop of `convolve` reads each input
  // once for four sums: w[((block * k² + tap) * p + input) * 4 + output % 4]. With fewer outputs the last
  // block has zeros.
  function pack(weights, q, p, k = 1) {
    const w = new Float64Array(Math.ceil(q / 4) * k * k * p * 4);
    for (let o = 0; o < q; o++) for (let i = 0; i < p; i++) for (let tap = 0; tap < k * k; tap++)
      w[(((o >> 2) * k * k + tap) * p + i) * 4 + (o & 3)] = weights[(o * p + i) * k * k + tap];
    return { w, q, p, k };
  }

  // A convolution with stride 1 and zeros around; with k = 1 a linear map of the channels.
  function convolve(x, { w, q, p, k }, bias = new Float64Array(q)) {
    const { s, n, d } = x, y = tensor(q, s, n), edge = k >> 1;
    for (let position = 0; position < s * s; position++) {
      const row = Math.floor(position / s), column = position % s, taps = [];
      for (let tap = 0; tap < k * k; tap++) {
        const r = row + Math.floor(tap / k) - edge, c = column + (tap % k) - edge;
        if (r >= 0 && r < s && c >= 0 && c < s) taps.push([tap, (r * s + c) * p * n]);
      }
      for (let o = 0; o < q; o += 4) {
        const block = (o >> 2) * k * k * p * 4, [b0, b1 = 0, b2 = 0, b3 = 0] = bias.subarray(o, o + 4);
        for (let i = 0; i < n; i += 2) {
          const next = i + 1 < n ? 1 : 0;  // two samples at once; the last of an odd number twice
          let u0 = b0, u1 = b1, u2 = b2, u3 = b3, v0 = b0, v1 = b1, v2 = b2, v3 = b3;
          for (let m = 0; m < taps.length; m++) {
            let at = taps[m][1] + i, g = block + taps[m][0] * p * 4;
            for (let input = 0; input < p; input++, at += n, g += 4) {
              const u = d[at], v = d[at + next], w0 = w[g], w1 = w[g + 1], w2 = w[g + 2], w3 = w[g + 3];
              u0 += u * w0; v0 += v * w0; u1 += u * w1; v1 += v * w1;
              u2 += u * w2; v2 += v * w2; u3 += u * w3; v3 += v * w3;
            }
          }
          const at = (position * q + o) * n + i, us = [u0, u1, u2, u3], vs = [v0, v1, v2, v3];
          for (let j = 0; j < 4 && o + j < q; j++) {
            y.d[at + j * n] = us[j];
            y.d[at + j * n + next] = vs[j];
          }
        }
      }
    }
    return y;
  }

  // M x: a matrix {r, c, d} of the channels, at each position.
  const mix = ({ r, c, d }, x, bias) => convolve(x, pack(d, r, c), bias);

  function channels(x, count) {  // a matrix: a row for each channel, of the first samples at all positions
    const length = x.s * x.s * count, d = new Float64Array(x.c * length);
    for (let p = 0; p < x.s * x.s; p++) for (let channel = 0; channel < x.c; channel++) {
      const at = (p * x.c + channel) * x.n;
      d.set(x.d.subarray(at, at + count), channel * length + p * count);
    }
    return { r: x.c, c: length, d };
  }

  // In place. The statistics are those of the training, or, with `fit`, those of the first `fit` samples, as
  // by `reestimate` on one batch: that batch is divided by its biased deviation, what comes later by the
  // unbiased one.
  function batchNorm(x, { scale, shift, mean, variance, eps }, fit) {
    const { c, s, n, d } = x, count = s * s * fit;
    for (let channel = 0; channel < c; channel++) {
      const starts = Array.from({ length: s * s }, (_, p) => (p * c + channel) * n);
      const normalise = (from, to, centre, spread) => {
        const factor = scale[channel] / Math.sqrt(spread + eps), offset = shift[channel] - centre * factor;
        for (const at of starts) for (let j = at + from; j < at + to; j++) d[j] = d[j] * factor + offset;
      };
      if (!fit) {
        normalise(0, n, mean[channel], variance[channel]);
        continue;
      }
      let centre = 0, square = 0;
      for (const at of starts) for (let j = at; j < at + fit; j++) centre += d[j] / count;
      for (const at of starts) for (let j = at; j < at + fit; j++) square += (d[j] - centre) ** 2;
      normalise(0, fit, centre, square / count);
      normalise(fit, n, centre, square / (count - 1));
    }
    return x;
  }

  function eachSample(x, change) {  // in place: the channels of each sample, which has one position
    const values = new Float64Array(x.c);
    for (let i = 0; i < x.n; i++) {
      for (let channel = 0; channel < x.c; channel++) values[channel] = x.d[channel * x.n + i];
      change(values).forEach((value, channel) => { x.d[channel * x.n + i] = value; });
    }
    return x;
  }
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  const layerNorm = (x, { scale, shift, eps }) => eachSample(x, (values) => {
    const mean = sum(values) / x.c, size = Math.sqrt(sum(values.map((v) => (v - mean) ** 2)) / x.c + eps);
    return values.map((v, k) => (v - mean) / size * scale[k] + shift[k]);
  });

  const softmax = (x) => eachSample(x, (values) => {
    const top = Math.max(...values), powers = values.map((v) => Math.exp(v - top)), total = sum(powers);
    return powers.map((v) => v / total);
  });

  function erf(x) {  // 2/√π ∫ exp(−t²) from 0 to x, to 1.5e-7 (Abramowitz and Stegun 7.1.26)
    const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    return Math.sign(x) * (1 - Math.exp(-x * x) * factors.reduce((total, factor) => t * (total + factor), 0));
  }

  const ACTIVATIONS = {
    identity: () => (t) => t,
    relu: () => (t) => (t > 0 ? t : 0),
    leaky: (slope) => (t) => (t > 0 ? t : slope * t),
    abs: () => Math.abs,
    tanh: () => Math.tanh,
    sigmoid: () => (t) => 1 / (1 + Math.exp(-t)),
    gelu: () => (t) => t * (1 + erf(t / Math.SQRT2)) / 2,
  };

  function activate(x, name, slope) {  // in place
    const { d } = x, value = ACTIVATIONS[name](slope);
    for (let j = 0; j < d.length; j++) d[j] = value(d[j]);
    return x;
  }

  function pool(x, size) {  // the largest of size × size positions
    const { c, s, n, d } = x, side = Math.floor(s / size), y = tensor(c, side, n), length = c * n;
    y.d.fill(-Infinity);
    for (let row = 0; row < side * size; row++) for (let column = 0; column < side * size; column++) {
      const from = (row * s + column) * length;
      const to = (Math.floor(row / size) * side + Math.floor(column / size)) * length;
      for (let j = 0; j < length; j++) if (d[from + j] > y.d[to + j]) y.d[to + j] = d[from + j];
    }
    return y;
  }

  function flatten(x) {  // torch counts the positions of a channel one after another
    const { c, s, n, d } = x, y = tensor(c * s * s, 1, n);
    for (let p = 0; p < s * s; p++) for (let channel = 0; channel < c; channel++) {
      const from = (p * c + channel) * n;
      y.d.set(d.subarray(from, from + n), (channel * s * s + p) * n);
    }
    return y;
  }

  // What export.py wrote -> layers with their arrays of numbers.
  function network({ layers, weights }) {
    const all = halves(weights);
    let at = 0;
    return layers.map(({ shapes = {}, ...layer }) => {
      for (const key in shapes) layer[key] = all.slice(at, at += shapes[key].reduce((a, b) => a * b));
      return shapes.weight ? packed({ ...layer, shape: shapes.weight }) : layer;
    });
  }
  const packed = (layer) => ({ ...layer, kernel: pack(layer.weight, ...layer.shape) });

  // The same layers, never trained: weights and biases uniform in ±1/√(inputs of a unit), as torch draws
  // them.
  function untrained(layers, draw) {
    return layers.map((layer) => {
      if (layer.kind === "batch norm" || layer.kind === "layer norm") {
        const all = (value) => layer.scale.map(() => value);
        return { ...layer, scale: all(1), shift: all(0), mean: all(0), variance: all(1) };
      }
      if (!layer.kernel) return layer;
      const edge = 1 / Math.sqrt(layer.weight.length / layer.shape[0]), drawn = () => edge * (2 * draw() - 1);
      return packed({ ...layer, weight: layer.weight.map(drawn), bias: layer.bias?.map(drawn) });
    });
  }

  const APPLY = {
    convolution: (x, { kernel, bias }) => convolve(x, kernel, bias),
    linear: (x, { kernel, bias }) => convolve(x, kernel, bias),
    "batch norm": batchNorm,
    "layer norm": layerNorm,
    activation: (x, layer) => activate(x, layer.name, layer.slope),
    pool: (x, layer) => pool(x, layer.size || x.s),  // size 0: over all positions
    flatten,
    softmax,
  };

  // The layers `from` ≤ k < `to` of x, which stays as it is; `trace` receives a copy of every layer's output.
  function run(layers, x, { from = 0, to = layers.length, fit = 0, trace = null } = {}) {
    return layers.slice(from, to).reduce((y, layer) => {
      const made = APPLY[layer.kind](y, layer, fit);
      trace?.push(copy(made));
      return made;
    }, copy(x));  // some layers work in place
  }

  function answers({ c, n, d }) {  // the class of each sample: the largest output
    const classes = [...Array(c).keys()];
    const larger = (i) => (a, b) => (d[b * n + i] > d[a * n + i] ? b : a);
    return Array.from({ length: n }, (_, i) => classes.reduce(larger(i)));
  }

  const accuracy = (found, labels) => found.filter((each, k) => each === labels[k]).length / found.length;

  function images({ pixels, side, shift, scale }) {  // what export.py made of a data set of grey images
    const grey = bytes(pixels), area = side * side, x = tensor(1, side, grey.length / area);
    grey.forEach((value, k) => { x.d[(k % area) * x.n + Math.floor(k / area)] = value * scale + shift; });
    return x;
  }

  // The pixels of one of them, from 0 to 1.
  const greys = ({ pixels }, k) => Array.from(bytes(pixels).subarray(64 * k, 64 * k + 64), (v) => v / 16);

  return { bytes, halves, tensor, samples, mix, channels, activate, network, untrained, run, answers,
    accuracy, images, greys, ACTIVATIONS };
})();
