import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { BUILT_IN } from '../built-in.ts'
import { askModel } from './ask-model.ts'
import { line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'

const NAME = 'setlist-oracle'
const badDuration = 'duration must be whole minutes from 5 to 720'
const badSetlist = 'setlist must be a list of 1 to 200 titles'

const Call = z.discriminatedUnion(
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

/** Has a model plan or judge a set. @throws AppError `upstream_failed` for an answer that is no setlist, and as `askModel`. */
export async function useSetlistOracle(deps: RunnerDeps, { user, body, signal }: SkillCall): Promise<object> {
  const call = parseCall(Call, body)
  const instructions = BUILT_IN.get(NAME)?.instructions ?? ''
  const ask = (input: string) => askModel(deps, user, { instructions, input, skill: NAME }, signal)
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

/** Models like to put words or a fence around what they were asked for. */
function readSetlist(content: string) {
  const text = content.slice(content.indexOf('{'), content.lastIndexOf('}') + 1)
  try {
    return Setlist.parse(JSON.parse(text)).setlist
  } catch (cause) {
    throw new AppError('upstream_failed', 'The model gave no setlist', {}, { cause })
  }
}
