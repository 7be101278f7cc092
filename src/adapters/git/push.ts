import git, { Errors, type GitHttpRequest, type HttpClient } from 'isomorphic-git'
import { AppError } from '../../core/errors.ts'
import type { FolderRoot } from '../files/open.ts'
import { findRemote, requireRepository } from './git.ts'
import type { SendToRemote } from './remote.ts'

/** The reason for the repository's owner why a push failed; null on success. */
export type PushFailure = string | null

/** Pushes the current branch to its http(s) remote. `send` adds the credentials. */
export async function gitPush(root: FolderRoot, send: SendToRemote): Promise<PushFailure> {
  const repository = await requireRepository(root)
  const { name, url } = await findRemote(repository)
  if (name === null || url === null) return 'there is no remote'
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return 'only http and https remotes are pushed to'
  try {
    await git.push({
      ...repository,
      url,
      remote: name,
      http: toHttpClient(send),
      // Set every option explicitly: a repository's own config could redirect credentials to another host.
      corsProxy: '',
      onAuth: () => ({ cancel: true }),
      onAuthFailure: () => ({ cancel: true }),
    })
    return null
  } catch (error) {
    return describeFailure(error)
  }
}

function toHttpClient(send: SendToRemote): HttpClient {
  return {
    async request({ url, method = 'GET', headers = {}, body }: GitHttpRequest) {
      const answer = await send({ url, method, headers, body: body ? await collect(body) : new Uint8Array() })
      return {
        url: answer.url,
        method,
        headers: { ...answer.headers },
        body: iterate(answer.body),
        statusCode: answer.status,
        statusMessage: '',
      }
    },
  }
}

async function* iterate(body: Uint8Array): AsyncIterableIterator<Uint8Array> {
  yield body
}

/** isomorphic-git declares an iterator but may pass an array. */
async function collect(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Never quotes the remote's message. */
function describeFailure(error: unknown): string {
  if (error instanceof Errors.UserCanceledError) return 'the remote wants credentials that it accepts'
  if (error instanceof Errors.PushRejectedError) return 'the remote has commits that are not here'
  if (error instanceof Errors.GitPushError) return 'the remote refused the commits'
  if (error instanceof Errors.HttpError) return `the remote answered ${error.data.statusCode}`
  if (error instanceof AppError && error.kind === 'upstream_failed') return 'the remote could not be reached'
  if (error instanceof AppError && error.kind === 'too_large') return 'it is more than can be pushed from here'
  if (error instanceof AppError) return 'the remote did not answer in time'
  return 'the remote did not answer as Git does'
}
