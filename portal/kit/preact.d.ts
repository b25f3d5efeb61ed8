// Declares the part of htm/preact/standalone that the portal uses; the package brings no types of its own.
type Dependencies = readonly unknown[]
type Children = unknown
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => Children
export const render: (tree: Children, parent: Element) => void
export const useState: <Value>(
  first: Value | (() => Value),
) => [Value, (next: Value | ((last: Value) => Value)) => void]
export const useEffect: (effect: () => unknown, dependencies?: Dependencies) => void
export const useLayoutEffect: typeof useEffect
export const useRef: <Value>(first: Value) => { current: Value }
export const useMemo: <Value>(make: () => Value, dependencies: Dependencies) => Value
