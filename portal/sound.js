// Two tones that nobody mistakes for each other: high and short, or low, rough and long.
/** @type {AudioContext | undefined} */
let audio

const tones = {
  good: /** @type {const} */ ({ type: 'sine', frequency: 1320, seconds: 0.09, volume: 0.25 }),
  bad: /** @type {const} */ ({ type: 'square', frequency: 165, seconds: 0.4, volume: 0.2 }),
}

/** Starts audio: browsers allow it only after a key or a click. */
export const wakeSound = () => {
  try {
    audio ??= new AudioContext()
    if (audio.state !== 'running') audio.resume()
  } catch {
    audio = undefined
  }
}

/** Plays a tone; silent where the browser has no sound. @param {keyof typeof tones} name */
export const play = name => {
  const { type, frequency, seconds, volume } = tones[name]
  wakeSound()
  if (!audio) return
  try {
    const tone = audio.createOscillator()
    const gain = audio.createGain()
    Object.assign(tone, { type })
    tone.frequency.value = frequency
    gain.gain.value = volume
    tone.connect(gain).connect(audio.destination)
    tone.start()
    tone.stop(audio.currentTime + seconds)
  } catch {
    audio = undefined
  }
}
