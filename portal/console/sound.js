// Plays two tones that nobody mistakes for each other: high and short, or low, rough and long.
/** @type {AudioContext | undefined} */
let audio

const tones = {
  good: /** @type {const} */ ({ type: 'sine', frequency: 1320, seconds: 0.09, volume: 0.25 }),
  bad: /** @type {const} */ ({ type: 'square', frequency: 165, seconds: 0.4, volume: 0.2 }),
}

/** Starts audio: browsers allow it only after a key or a click. Does nothing where the browser has no sound. */
export const wakeSound = () => {
  try {
    audio ??= new AudioContext()
    if (audio.state !== 'running') audio.resume()
  } catch {
    audio = undefined
  }
}

/** Plays a tone. @param {keyof typeof tones} name */
export const play = name => {
  const { type, frequency, seconds, volume } = tones[name]
  wakeSound()
  if (!audio) return
  const tone = new OscillatorNode(audio, { type, frequency })
  tone.connect(new GainNode(audio, { gain: volume })).connect(audio.destination)
  tone.start()
  tone.stop(audio.currentTime + seconds)
}
