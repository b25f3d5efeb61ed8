import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Teardown } from '../../dev/test-database.ts'

/** Describes one step of a history: an act and its outcome. */
export interface Step<State> {
  /** Returns true if the step is possible now. */
  isPossible?: (state: State) => boolean
  /** Describes the step before it runs. */
  text: (state: State) => string
  /** Applies the step to the application and to the model, compares both, and returns the outcome. */
  run: (state: State) => Promise<string | number>
}

interface Model<State, Setting> {
  /** Generates the choices for a whole history. */
  settings: fc.Arbitrary<Setting>
  /** Creates the state in which a history begins: nothing of an earlier history shows. */
  begin: (setting: Setting) => Promise<State>
  steps: fc.Arbitrary<Step<State>>[]
  /** Checks what holds after each step. */
  check?: (state: State) => Promise<void>
  /** Checks what holds after the last step. */
  end?: (state: State) => Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: what a model keeps is its own
export type CreateModel = (t: Teardown) => Promise<Model<any, any>>

interface HistoryOptions {
  seed: number
  histories: number
  /** No history begins after this many seconds; the search for a smaller failing one may take as long again. */
  seconds: number
}

export interface Played {
  histories: number
  steps: number
  /** Describes the smallest failing history found. */
  failure?: string
}

/** Requires that the application did the same as the model. */
export const expectSame = (what: string, actual: unknown, expected: unknown): void => {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
}

/** Plays random histories until one fails, and then smaller ones. */
export const playHistories = async <State extends object, Setting>(
  model: Model<State, Setting>,
  { seed, histories, seconds }: HistoryOptions,
): Promise<Played> => {
  const played: Played = { histories: 0, steps: 0 }
  let end = Date.now() + seconds * 1000
  const commands = model.steps.map(steps => steps.map(step => toCommand(model, step, played)))
  const all = fc.commands(commands, { maxCommands: 60, size: 'max', disableReplayLog: true })
  const property = fc.asyncProperty(model.settings, all, async (setting, chosen) => {
    if (Date.now() > end) return
    const story = [`  ${JSON.stringify(setting)}`]
    played.histories++
    try {
      const state = await model.begin(setting)
      await fc.asyncModelRun(() => ({ model: state, real: story }), chosen)
      await model.end?.(state)
    } catch (error) {
      if (played.failure === undefined) end = Date.now() + seconds * 1000
      played.failure = [...story, `  ${(error as Error).message}`].join('\n')
      throw error
    }
  })
  const { failed, numShrinks } = await fc.check(property, { seed, numRuns: histories })
  if (failed) played.failure = `${played.failure}\n  (shrunk ${numShrinks} times)`
  return played
}

const toCommand = <State extends object, Setting>(
  model: Model<State, Setting>,
  step: Step<State>,
  played: Played,
): fc.AsyncCommand<State, string[]> => ({
  check: state => step.isPossible?.(state) ?? true,
  run: async (state, story) => {
    const text = step.text(state)
    const line = story.push(`  ${text}`) - 1
    played.steps++
    story[line] = `  ${text} -> ${await step.run(state)}`
    await model.check?.(state)
  },
  toString: () => 'step',
})

/** Picks an item from a list by a number of any size; `undefined` from an empty list. */
export const pick = <Item>(items: readonly Item[], number: number): Item => items[number % items.length] as Item

/** Repeats one kind of step, so that it is chosen `count` times as often. */
export const times = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item)

/** Creates a step about one of the items, possible if there are any. */
export const stepWith =
  <State, Item>(
    listItems: (state: State) => readonly Item[],
    text: (item: Item) => string,
    run: (state: State, item: Item) => Promise<string | number>,
  ) =>
  (which: number): Step<State> => ({
    isPossible: state => listItems(state).length > 0,
    text: state => text(pick(listItems(state), which)),
    run: state => run(state, pick(listItems(state), which)),
  })
