import { useMemo } from 'react'
import { SelectField, TextField } from '../ui/field.tsx'
import { DAYS, fromCron, listNextRuns, type Sentence, toCron } from './sentence.ts'
import { listZones } from './zones.ts'

const SHOWN_RUNS = 5
const starts: Record<Sentence['kind'], Sentence> = {
  minutes: { kind: 'minutes', every: 15 },
  hours: { kind: 'hours', minute: 0 },
  day: { kind: 'day', time: '09:00' },
  week: { kind: 'week', days: [1, 2, 3, 4, 5], time: '09:00' },
  month: { kind: 'month', day: 1, time: '09:00' },
}
const smallClass = 'min-h-10 rounded-md border border-edge bg-surface px-2 text-base text-ink sm:text-[0.9375rem]'

type When = { cron: string; timezone: string }
type ScheduleFieldProps = { when: When; error: string | undefined; onChange: (when: When) => void }

export function ScheduleField({ when, error, onChange }: ScheduleFieldProps) {
  const sentence = fromCron(when.cron)
  const change = (next: Sentence) => onChange({ ...when, cron: toCron(next) })
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
      <div className="grid content-start gap-3">
        <SelectField
          label="Schedule"
          value={sentence?.kind ?? 'cron'}
          onChange={({ target }) => {
            const start = Object.values(starts).find(({ kind }) => kind === target.value)
            if (start) change(start)
          }}
        >
          <option value="minutes">Every N minutes</option>
          <option value="hours">Hourly</option>
          <option value="day">Daily</option>
          <option value="week">Weekly</option>
          <option value="month">Monthly</option>
          {!sentence && <option value="cron">Custom cron expression</option>}
        </SelectField>
        {sentence && <SentenceFields sentence={sentence} onChange={change} />}
      </div>
      <div className="grid content-start gap-3">
        <TextField
          label="Cron expression"
          value={when.cron}
          error={error}
          maxLength={100}
          autoCapitalize="none"
          spellCheck={false}
          onChange={({ target }) => onChange({ ...when, cron: target.value })}
        />
        <SelectField
          label="Time zone"
          value={when.timezone}
          onChange={({ target }) => onChange({ ...when, timezone: target.value })}
        >
          {listZones(when.timezone).map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </SelectField>
      </div>
      <NextRuns when={when} />
    </div>
  )
}

type SentenceFieldsProps = { sentence: Sentence; onChange: (sentence: Sentence) => void }

function SentenceFields({ sentence, onChange }: SentenceFieldsProps) {
  if (sentence.kind === 'minutes') {
    return (
      <NumberLine
        label="Interval in minutes"
        value={sentence.every}
        least={1}
        most={59}
        onChange={(every) => onChange({ kind: 'minutes', every })}
      />
    )
  }
  if (sentence.kind === 'hours') {
    return (
      <NumberLine
        label="Minute of the hour"
        value={sentence.minute}
        least={0}
        most={59}
        onChange={(minute) => onChange({ kind: 'hours', minute })}
      />
    )
  }
  const clock = (
    <label className="flex items-center justify-between gap-3 text-sm">
      At
      <input
        type="time"
        value={sentence.time}
        onChange={({ target }) => target.value && onChange({ ...sentence, time: target.value })}
        className={smallClass}
      />
    </label>
  )
  if (sentence.kind === 'day') return clock
  if (sentence.kind === 'month') {
    return (
      <>
        <NumberLine
          label="Day of the month"
          value={sentence.day}
          least={1}
          most={31}
          onChange={(day) => onChange({ ...sentence, day })}
        />
        {clock}
      </>
    )
  }
  return (
    <>
      <fieldset className="grid grid-cols-7 gap-1">
        <legend className="sr-only">Days</legend>
        {DAYS.map((name, day) => {
          const isOn = sentence.days.includes(day)
          const days = isOn ? sentence.days.filter((each) => each !== day) : [...sentence.days, day].sort()
          return (
            <button
              key={name}
              type="button"
              title={name}
              aria-pressed={isOn}
              onClick={() => days.length > 0 && onChange({ ...sentence, days })}
              className="min-h-9 rounded-md border border-line text-sm text-muted aria-pressed:border-transparent aria-pressed:bg-accent-soft aria-pressed:text-ink"
            >
              {name.slice(0, 3)}
            </button>
          )
        })}
      </fieldset>
      {clock}
    </>
  )
}

type NumberLineProps = { label: string; value: number; least: number; most: number; onChange: (value: number) => void }

function NumberLine({ label, value, least, most, onChange }: NumberLineProps) {
  return (
    <label className="flex items-center justify-between gap-3 text-sm">
      {label}
      <input
        type="number"
        min={least}
        max={most}
        value={value}
        onChange={({ target }) => {
          const next = target.valueAsNumber
          if (Number.isInteger(next) && next >= least && next <= most) onChange(next)
        }}
        className={`${smallClass} w-24`}
      />
    </label>
  )
}

function NextRuns({ when }: { when: When }) {
  const { runs, problem } = useMemo(() => readNextRuns(when), [when])
  const format = new Intl.DateTimeFormat('en', {
    weekday: 'short',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: when.timezone,
  })
  return (
    <div className="rounded-lg bg-sunken px-4 py-3 text-sm sm:col-span-2">
      <p className="font-medium">Next runs, in the time zone {when.timezone}</p>
      {problem ? (
        <p className="text-bad">{problem}</p>
      ) : runs.length === 0 ? (
        <p className="text-muted">None: this schedule never runs.</p>
      ) : (
        <ol aria-label="Next runs" className="flex flex-wrap gap-x-5 tabular-nums">
          {runs.map((run) => (
            <li key={run.getTime()}>
              <time dateTime={run.toISOString()}>{format.format(run)}</time>
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

function readNextRuns({ cron, timezone }: When): { runs: Date[]; problem: string | null } {
  try {
    return { runs: listNextRuns(cron, timezone, SHOWN_RUNS, new Date()), problem: null }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { runs: [], problem: `Invalid schedule: ${reason}` }
  }
}
