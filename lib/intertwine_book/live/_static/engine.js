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

  function samples(x, from, to) {  // some of the samples
    const y = tensor(x.c, x.s, to - from);
    for (let row = 0; row < x.c * x.s * x.s; row++)
      y.d.set(x.d.subarray(row * x.n + from, row * x.n + to), row * y.n);
    return y;
  }

  // A convolution with stride 1 and zeros around; with k = 1 a linear map of the channels. Four inputs and
  // two outputs at once, so that numbers are read and written once for several products; what is beyond the
  // last one has weight 0.
  function convolve(x, { weight, shape: [q, p, k = 1], bias }) {
    const { s, n, d } = x, made = tensor(q, s, n), y = made.d, edge = k >> 1;
    if (bias) for (let row = 0; row < s * s * q; row++) y.fill(bias[row % q], row * n, (row + 1) * n);
    for (let position = 0; position < s * s; position++) for (let tap = 0; tap < k * k; tap++) {
      const r = Math.floor(position / s) + Math.floor(tap / k) - edge, c = position % s + tap % k - edge;
      if (r < 0 || r >= s || c < 0 || c >= s) continue;
      const w = (o, i) => (o < q && i < p ? weight[(o * p + i) * k * k + tap] : 0);
      const at = (i) => ((r * s + c) * p + Math.min(i, p - 1)) * n;
      for (let o = 0; o < q; o += 2) for (let i = 0; i < p; i += 4) {
        const y0 = (position * q + o) * n, y1 = o + 1 < q ? y0 + n : y0;
        const x0 = at(i), x1 = at(i + 1), x2 = at(i + 2), x3 = at(i + 3);
        const a0 = w(o, i), a1 = w(o, i + 1), a2 = w(o, i + 2), a3 = w(o, i + 3);
        const b0 = w(o + 1, i), b1 = w(o + 1, i + 1), b2 = w(o + 1, i + 2), b3 = w(o + 1, i + 3);
        for (let j = 0; j < n; j++) {
          const u0 = d[x0 + j], u1 = d[x1 + j], u2 = d[x2 + j], u3 = d[x3 + j];
          y[y0 + j] += a0 * u0 + a1 * u1 + a2 * u2 + a3 * u3;
          y[y1 + j] += b0 * u0 + b1 * u1 + b2 * u2 + b3 * u3;
        }
      }
    }
    return made;
  }

  // M x: a matrix {r, c, d} of the channels, at each position.
  const mix = ({ r, c, d }, x, bias) => convolve(x, { weight: d, shape: [r, c], bias });

  function channels(x, count = x.n) {  // a matrix: a row for each channel, of first samples at all positions
    const length = x.s * x.s * count, d = new Float64Array(x.c * length);
    for (let row = 0; row < x.s * x.s * x.c; row++) {
      const to = (row % x.c) * length + Math.floor(row / x.c) * count;
      d.set(x.d.subarray(row * x.n, row * x.n + count), to);
    }
    return { r: x.c, c: length, d };
  }

  // Torch counts the positions of a channel one after another.
  const flatten = (x) => ({ c: x.c * x.s * x.s, s: 1, n: x.n, d: channels(x).d });

  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // In place. The statistics are those of the training, or, with `fit`, those of the first `fit` samples, as
  // by `reestimate` on one batch: that batch is divided by its biased deviation, what comes later by the
  // unbiased one.
  function batchNorm(x, { scale, shift, mean, variance, eps }, fit) {
    const { c, n, d } = x, seen = channels(x, fit), count = seen.c;
    const normalise = (k, from, to, centre, spread) => {
      const factor = scale[k] / Math.sqrt(spread + eps), offset = shift[k] - centre * factor;
      for (let at = k * n; at < d.length; at += c * n)
        for (let j = at + from; j < at + to; j++) d[j] = d[j] * factor + offset;
    };
    for (let k = 0; k < c; k++) {
      const row = seen.d.subarray(k * count, (k + 1) * count), centre = fit ? sum(row) / count : mean[k];
      const square = sum(row.map((v) => (v - centre) ** 2));
      normalise(k, 0, fit, centre, square / count);
      normalise(k, fit, n, centre, fit ? square / (count - 1) : variance[k]);
    }
    return x;
  }

  function eachSample(x, change) {  // in place: the channels of each sample, which has one position
    for (let i = 0; i < x.n; i++) {
      const values = Float64Array.from({ length: x.c }, (_, k) => x.d[k * x.n + i]);
      change(values).forEach((value, k) => { x.d[k * x.n + i] = value; });
    }
    return x;
  }

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

  // What export.py wrote -> layers with their arrays of numbers.
  function network({ layers, weights }) {
    const all = halves(weights);
    let at = 0;
    return layers.map(({ shapes = {}, ...layer }) => {
      for (const key in shapes) layer[key] = all.slice(at, at += shapes[key].reduce((a, b) => a * b));
      return { ...layer, shape: shapes.weight };
    });
  }

  // The same layers, never trained: weights and biases uniform in ±1/√(inputs of a unit), as torch draws
  // them.
  function untrained(layers, draw) {
    return layers.map((layer) => {
      const { weight, bias, shape, scale } = layer, all = (value) => scale.map(() => value);
      if (scale) return { ...layer, scale: all(1), shift: all(0), mean: all(0), variance: all(1) };
      if (!weight) return layer;
      const edge = 1 / Math.sqrt(weight.length / shape[0]), drawn = () => edge * (2 * draw() - 1);
      return { ...layer, weight: weight.map(drawn), bias: bias?.map(drawn) };
    });
  }

  const APPLY = {
    convolution: convolve,
    linear: convolve,
    "batch norm": batchNorm,
    "layer norm": layerNorm,
    activation: (x, layer) => activate(x, layer.name, layer.slope),
    pool: (x, layer) => pool(x, layer.size || x.s),  // size 0: over all positions
    flatten,
    softmax,
  };

  // The layers `from` ≤ k < `to` of x, which stays as it is, though some layers work in place.
  const run = (layers, x, { from = 0, to = layers.length, fit = 0 } = {}) =>
    layers.slice(from, to).reduce((y, layer) => APPLY[layer.kind](y, layer, fit), { ...x, d: x.d.slice() });

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
