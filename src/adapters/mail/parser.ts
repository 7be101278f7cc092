import { convert } from 'html-to-text'
import { z } from 'zod'
import type { ChannelFunctions } from '../files/channel.ts'

export function openParser(): ChannelFunctions {
  return { toText: async (html) => toText(z.string().parse(html)) }
}

function toText(html: string): string {
  return convert(html, {
    wordwrap: false,
    preserveNewlines: true,
    limits: { maxDepth: 64, ellipsis: '' },
    selectors: [
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
      { selector: 'img', format: 'skip' },
    ],
  })
}
