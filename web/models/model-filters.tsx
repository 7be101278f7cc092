import { Choice, SortChoice } from '../ui/choice.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { usualOrder } from './choose-models.ts'
import { MODEL_ABILITIES, type ModelsSearch } from './models-search.ts'

const sortWords = { name: 'Name', input: 'Input price', output: 'Output price', context: 'Context' } as const
const abilityWords = { tools: 'Tool use', vision: 'Vision', free: 'Free' } as const

type ModelFiltersProps = { search: ModelsSearch; onChange: (part: Partial<ModelsSearch>) => void }

export function ModelFilters({ search, onChange }: ModelFiltersProps) {
  const sort = search.sort ?? 'name'
  const order = search.order ?? usualOrder(sort)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchField
        label="Search models"
        placeholder="Name, ID or strength"
        value={search.search ?? ''}
        maxLength={100}
        shortcut="/"
        onSearch={(words) => onChange({ search: words || undefined })}
        className="min-w-48 flex-1 max-sm:basis-full"
      />
      <Choice
        label="Capabilities"
        value={search.can ?? ''}
        onChoose={(value) => onChange({ can: MODEL_ABILITIES.find((each) => each === value) })}
      >
        <option value="">All capabilities</option>
        {MODEL_ABILITIES.map((each) => (
          <option key={each} value={each}>
            {abilityWords[each]}
          </option>
        ))}
      </Choice>
      <SortChoice words={sortWords} sort={sort} order={order} onChoose={onChange} />
    </div>
  )
}
