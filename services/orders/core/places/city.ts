/** Adds a value to the list of its key. */
export const addTo = <Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void => {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

export interface State {
  readonly id: number
  readonly name: string
}

export interface City {
  readonly id: number
  readonly name: string
  readonly postalCode: string | null
  readonly state: State
  readonly aliases?: readonly string[] | undefined
}
