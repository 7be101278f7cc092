import { z } from 'zod'

/** `registry:5000/path/name:tag@sha256:…`, any part of it but the name left out. */
export const ImageReference = z
  .string('image must be text')
  .max(255, 'image is too long')
  .regex(
    /^(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/,
    'Invalid docker image value',
  )
