export type Chosen = 'all' | 'none'

/** Names the capabilities that the running test loads. `npm test` chooses none for tests of the core, and else all. */
export const chosenCapabilities: Chosen = process.env.TEST_CAPABILITIES === 'none' ? 'none' : 'all'
