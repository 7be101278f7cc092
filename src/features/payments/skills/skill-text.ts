import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import bookingSettlement from './builtin/booking-settlement.md' with { type: 'text' }
import eventScheduler from './builtin/event-scheduler.md' with { type: 'text' }
import eventTicketing from './builtin/event-ticketing.md' with { type: 'text' }
import festivalFinder from './builtin/festival-finder.md' with { type: 'text' }
import guestlistManager from './builtin/guestlist-manager.md' with { type: 'text' }
import instantSplit from './builtin/instant-split.md' with { type: 'text' }
import pressReleaseWriter from './builtin/press-release-writer.md' with { type: 'text' }
import releasePlanner from './builtin/release-planner.md' with { type: 'text' }
import royaltyTracker from './builtin/royalty-tracker.md' with { type: 'text' }
import setlistOracle from './builtin/setlist-oracle.md' with { type: 'text' }
import tourPlanner from './builtin/tour-planner.md' with { type: 'text' }
import venueFinder from './builtin/venue-finder.md' with { type: 'text' }
import visualSynthesizer from './builtin/visual-synthesizer.md' with { type: 'text' }

/** A parsed `SKILL.md`: `content` is the file, `instructions` the part after the front matter. */
export type SkillText = {
  name: string
  title: string
  description: string
  category: string
  instructions: string
  content: string
  /** SHA-256 of the file in hex. */
  checksum: string
}

const NAME = /^[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,63}$/
const badName = 'name must be lower-case letters, digits and single dashes, at most 64'

/** Required keys; agents may use others. */
const FrontMatter = z.looseObject(
  {
    name: z.string('name is missing in the front matter').regex(NAME, badName),
    description: z
      .string('description is missing in the front matter')
      .trim()
      .min(1, 'description is missing in the front matter')
      .max(1024, 'description must be at most 1024 characters'),
    category: z
      .string('category must be text')
      .trim()
      .regex(/^[a-z0-9][a-z0-9 -]{0,39}$/, 'category must be lower-case words, at most 40 characters')
      .default('custom'),
  },
  'SKILL.md must begin with front matter: --- name: …, description: … ---',
)

/** Parses a `SKILL.md`. @throws AppError `invalid` for missing or malformed front matter. */
export function parseSkillText(content: string): SkillText {
  const match = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(content)
  const parsed = FrontMatter.safeParse(match ? readYaml(match[1] ?? '') : undefined)
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'SKILL.md is not valid')
  const instructions = (match?.[2] ?? '').trim()
  if (instructions === '') throw new AppError('invalid', 'SKILL.md has no instructions')
  const { name, description, category } = parsed.data
  const title = /^# +(.+)$/m.exec(instructions)?.[1]?.trim().slice(0, 100) ?? name
  return { name, title, description, category, instructions, content, checksum: sha256(content) }
}

function readYaml(text: string): unknown {
  try {
    return Bun.YAML.parse(text)
  } catch {
    throw new AppError('invalid', 'The front matter of SKILL.md is not valid YAML')
  }
}

/** Listed first. */
const FEATURED: ReadonlySet<string> = new Set([
  'event-ticketing',
  'booking-settlement',
  'instant-split',
  'setlist-oracle',
])

/** Skills that are part of the program. */
export const BUILT_IN: ReadonlyMap<string, SkillText> = new Map(
  [
    eventTicketing,
    eventScheduler,
    venueFinder,
    festivalFinder,
    royaltyTracker,
    setlistOracle,
    visualSynthesizer,
    bookingSettlement,
    instantSplit,
    guestlistManager,
    pressReleaseWriter,
    tourPlanner,
    releasePlanner,
  ].map((text) => {
    const skill = parseSkillText(text)
    return [skill.name, skill]
  }),
)

export function isFeatured(name: string): boolean {
  return FEATURED.has(name)
}
