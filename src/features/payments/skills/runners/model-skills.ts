import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { BUILT_IN } from '../skill-text.ts'
import { askModel, line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'

const SETLIST_ORACLE = 'setlist-oracle'
const badDuration = 'duration must be whole minutes from 5 to 720'
const badSetlist = 'setlist must be a list of 1 to 200 titles'

const SetlistCall = z.discriminatedUnion(
  'action',
  [
    z.object({
      action: z.literal('build'),
      genre: line('genre', 100),
      mood: line('mood', 100).optional(),
      duration: z.int(badDuration).min(5, badDuration).max(720, badDuration).default(60),
    }),
    z.object({
      action: z.literal('analyze'),
      setlist: z.array(line('setlist', 200), badSetlist).min(1, badSetlist).max(200, badSetlist),
    }),
  ],
  'Invalid action',
)

const Setlist = z.object({
  setlist: z
    .array(z.object({ title: z.string().min(1), artist: z.string().min(1), minutes: z.number().positive().max(60) }))
    .min(1),
})
const FORM = 'Answer with JSON alone: {"setlist": [{"title": "…", "artist": "…", "minutes": 6}]}'

/**
 * Plans or judges a setlist with a model. @throws AppError `upstream_failed` for an invalid response, and as
 * `askModel`.
 */
export async function useSetlistOracle(deps: RunnerDeps, { user, body, signal }: SkillCall): Promise<object> {
  const call = parseCall(SetlistCall, body)
  const instructions = BUILT_IN.get(SETLIST_ORACLE)?.instructions ?? ''
  const ask = (input: string) => askModel(deps, user, { instructions, input, skill: SETLIST_ORACLE }, signal)
  if (call.action === 'analyze') {
    const { content, model } = await ask(`Judge this set:\n${call.setlist.join('\n')}`)
    return { success: true, analysis: content, model }
  }
  const mood = call.mood === undefined ? '' : ` in the mood ${call.mood}`
  const { content, model } = await ask(`Build a set of ${call.duration} minutes of ${call.genre}${mood}. ${FORM}`)
  const setlist = readSetlist(content)
  const minutes = setlist.reduce((sum, track) => sum + track.minutes, 0)
  return { success: true, setlist, stats: { tracks: setlist.length, minutes, wantedMinutes: call.duration }, model }
}

/** Models often add text or a code fence around JSON. */
function readSetlist(content: string) {
  const text = content.slice(content.indexOf('{'), content.lastIndexOf('}') + 1)
  try {
    return Setlist.parse(JSON.parse(text)).setlist
  } catch (cause) {
    throw new AppError('upstream_failed', 'The model gave no setlist', {}, { cause })
  }
}

const VISUAL_SYNTHESIZER = 'visual-synthesizer'

const PictureCall = z.object(
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

/** Active content and external references in SVG. The dashboard also shows pictures as images, where neither works. */
const ACTIVE =
  /<(?:script|foreignObject|iframe|animate\w*\s[^<>]*href)|\son\w+\s*=|javascript:|(?:href|src)\s*=\s*["'](?!#|data:image\/)/i

/**
 * Draws a picture with a model; `imageUrl` is a data URL.
 * @throws AppError `upstream_failed` for a response without a safe picture, and as `askModel`.
 */
export async function useVisualSynthesizer(deps: RunnerDeps, { user, body, signal }: SkillCall): Promise<object> {
  const { prompt, style, aspectRatio } = parseCall(PictureCall, body)
  const instructions = BUILT_IN.get(VISUAL_SYNTHESIZER)?.instructions ?? ''
  const input = [`Draw: ${prompt}`, style && `Style: ${style}`, `Aspect ratio: ${aspectRatio}`]
    .filter(Boolean)
    .join('\n')
  const { id, content, model } = await askModel(deps, user, { instructions, input, skill: VISUAL_SYNTHESIZER }, signal)
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
