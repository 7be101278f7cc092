import { isUtf8 } from 'node:buffer'
import sniffEncoding from 'html-encoding-sniffer'

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i

/**
 * Decodes a page by its byte order mark, `contentType` or own declaration (HTML Standard, 13.2.3); otherwise as UTF-8
 * if valid, else windows-1252.
 */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const encoding = sniffEncoding(bytes, {
    xml: /^\s*application\/xhtml\+xml/i.test(contentType),
    transportLayerEncodingLabel: CHARSET.exec(contentType)?.[1],
    defaultEncoding: isUtf8(bytes) ? 'UTF-8' : 'windows-1252',
  })
  return new TextDecoder(toDecoderLabel(encoding)).decode(bytes)
}

/** `replacement` marks encodings that can hide markup; it has no decoder. */
function toDecoderLabel(encoding: string): Bun.Encoding {
  const label = encoding === 'replacement' ? 'utf-8' : encoding.toLowerCase()
  // Bun's type lists only some of the supported labels.
  return label as Bun.Encoding
}
