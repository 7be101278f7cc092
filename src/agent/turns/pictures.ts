import type { ModelMessage } from 'ai'
import { AppError } from '../../core/errors.ts'
import type { AgentWorkspace } from '../state/workspace.ts'

/** A stored message; `images` are workspace paths. */
export type PlainMessage = { role: 'user' | 'assistant'; content: string; images?: string[] | undefined }

/** The newest images of a conversation within these limits are sent: a model request has at most 8 MB. */
const MAX_SHOWN = 4
const MAX_SHOWN_BYTES = 5 * 1024 * 1024

/** Returns model messages with their images. A note replaces each image that is left out, with the reason. */
export async function withPictures(
  workspace: Pick<AgentWorkspace, 'readPicture'>,
  messages: readonly PlainMessage[],
  canSee: boolean,
): Promise<ModelMessage[]> {
  const shown: ModelMessage[] = []
  const left = { pictures: MAX_SHOWN, bytes: MAX_SHOWN_BYTES }
  for (const { role, content, images = [] } of messages.toReversed()) {
    if (role === 'assistant' || images.length === 0) shown.unshift({ role, content })
    else if (!canSee) shown.unshift({ role, content: `${content}\n\n${toBlindNote(images)}` })
    else
      shown.unshift({ role, content: [{ type: 'text', text: content }, ...(await showEach(workspace, images, left))] })
  }
  return shown
}

async function showEach(
  workspace: Pick<AgentWorkspace, 'readPicture'>,
  paths: readonly string[],
  left: { pictures: number; bytes: number },
) {
  const parts = []
  for (const path of paths) {
    const data = await workspace.readPicture(path).catch((error: unknown) => {
      if (error instanceof AppError) return error.message
      throw error
    })
    if (typeof data === 'string') parts.push(toText(`The picture ${path} cannot be shown: ${data}`))
    else if (left.pictures === 0 || data.length > left.bytes) {
      parts.push(toText(`The picture ${path} is not shown again: newer ones took its place`))
    } else {
      left.pictures -= 1
      left.bytes -= data.length
      parts.push({ type: 'file' as const, data, mediaType: 'image' })
    }
  }
  return parts
}

function toText(note: string) {
  return { type: 'text' as const, text: `[${note}]` }
}

function toBlindNote(images: readonly string[]): string {
  return `[You cannot see ${images.join(', ')}: the model that you run on takes no pictures. Say so plainly, and do not guess what they show.]`
}
