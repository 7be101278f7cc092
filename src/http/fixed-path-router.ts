import type { Result, Router } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'

/** Others are looked up each time: a method is whatever a stranger writes. */
const REMEMBERED_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])
const HAS_PARAMETER = /[:*{?]/

type Route<T> = readonly [method: string, path: string, handler: T]

/**
 * Hono's router for fixed paths beside parameters, one for each first part of a path: that is a face here, and whoever asks
 * one face need not wait until the routes of the others stand.
 */
export class FixedPathRouter<T> implements Router<T> {
  readonly name = 'FixedPathRouter'
  readonly #routes: Route<T>[] = []
  readonly #branches = new Map<string, Branch<T>>()

  add(method: string, path: string, handler: T): void {
    this.#routes.push([method, path, handler])
    if (this.#branches.size > 0) this.#branches.clear()
  }

  match(method: string, path: string): Result<T> {
    const first = firstPartOf(path)
    return (this.#branches.get(first) ?? this.#grow(first)).match(method, path)
  }

  /** A part that no route begins with is a stranger's word: what stands for it is not kept. */
  #grow(first: string): Branch<T> {
    const branch = new Branch<T>()
    let isKnown = false
    for (const [method, path, handler] of this.#routes) {
      const start = firstPartOf(path)
      isKnown ||= start === first
      if (start === first || HAS_PARAMETER.test(start)) branch.add(method, path, handler)
    }
    if (isKnown) this.#branches.set(first, branch)
    return branch
  }
}

/** What stands at a fixed path is the same for every request, so it is looked up once: the search is a fifth of a short one. */
class Branch<T> extends TrieRouter<T> {
  readonly #found = new Map<string, Map<string, Result<T>>>()

  override add(method: string, path: string, handler: T): void {
    super.add(method, path, handler)
    if (!HAS_PARAMETER.test(path)) this.#found.set(path, new Map())
  }

  override match(method: string, path: string): Result<T> {
    const found = this.#found.get(path)
    if (!found || !REMEMBERED_METHODS.has(method)) return super.match(method, path)
    const known = found.get(method)
    if (known) return known
    const result = super.match(method, path)
    found.set(method, result)
    return result
  }
}

function firstPartOf(path: string): string {
  const end = path.indexOf('/', 1)
  return end === -1 ? path : path.slice(0, end)
}
