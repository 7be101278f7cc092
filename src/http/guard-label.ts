const names = new WeakMap<object, string>()

/** Names a middleware that decides who may call a route, for `tests/endpoints.txt`; it works as before. */
export function label<Guard extends object>(name: string, guard: Guard): Guard {
  names.set(guard, name)
  return guard
}

/** The name that `label` gave this very function, or undefined. */
export function guardName(handler: object): string | undefined {
  return names.get(handler)
}
