import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { BUILT_IN } from '../built-in.ts'
import { askModel } from './ask-model.ts'
import { line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'

const NAME = 'visual-synthesizer'

const Call = z.object(
  {
    prompt: line('Prompt', 4000),
    style: line('style').optional(),
    aspectRatio: z
      .string('aspectRatio must be like 16:9')
      .regex(/^[1-9]\d?:[1-9]\d?$/, 'aspectRatio must be like 16:9')
      .default('1:1'),
    outputFormat: z.literal('svg', 'outputFormat must be svg').default('svg'),
  },
  'Prompt is required',
)

/** What could act or ask for something from elsewhere. The dashboard shows the picture as an image, where none of it would. */
const ACTIVE =
  /<(?:script|foreignObject|iframe|animate\w*\s[^<>]*href)|\son\w+\s*=|javascript:|(?:href|src)\s*=\s*["'](?!#|data:image\/)/i

/**
 * Has a model draw a picture. `imageUrl` holds the picture itself: there is nothing to fetch.
 * @throws AppError `upstream_failed` for an answer without a picture that can be shown, and as `askModel`.
 */
export async function useVisualSynthesizer(deps: RunnerDeps, { user, body, signal }: SkillCall): Promise<object> {
  const { prompt, style, aspectRatio } = parseCall(Call, body)
  const instructions = BUILT_IN.get(NAME)?.instructions ?? ''
  const input = [`Draw: ${prompt}`, style && `Style: ${style}`, `Aspect ratio: ${aspectRatio}`]
    .filter(Boolean)
    .join('\n')
  const { id, content, model } = await askModel(deps, user, { instructions, input, skill: NAME }, signal)
  const imageUrl = `data:image/svg+xml;base64,${Buffer.from(readPicture(content)).toString('base64')}`
  return { success: true, imageUrl, predictionId: id, prompt, model }
}

function readPicture(content: string): string {
  const begins = content.indexOf('<svg')
  const ends = content.lastIndexOf('</svg>')
  if (begins === -1 || ends < begins) throw new AppError('upstream_failed', 'The model gave no picture')
  const picture = content.slice(begins, ends + '</svg>'.length)
  if (ACTIVE.test(picture)) throw new AppError('upstream_failed', 'The picture of the model is not safe to show')
  return picture.includes('xmlns=') ? picture : picture.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"')
}
