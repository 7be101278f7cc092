import { z } from 'zod'

const MAX_LABELS = 10

/** A label: a short word or two, compared letter for letter. */
export const Label = z
  .string('A label must be text')
  .trim()
  .min(1, 'A label must not be empty')
  .max(40, 'A label must be at most 40 characters')
  .refine((label) => !/[\p{Cc},]/u.test(label), 'A label must not contain commas or control characters')

/** `PUT /api/agents/:id/labels`: what is not in the list is taken away. */
export const LabelsRequest = z.object({
  labels: z
    .array(Label, 'labels must be a list of texts')
    .max(MAX_LABELS, `An agent has at most ${MAX_LABELS} labels`)
    .transform((labels) => [...new Set(labels)].sort()),
})

/** The labels of an agent in the order of the alphabet. */
export const Labels = z.object({ labels: z.array(z.string()) })
