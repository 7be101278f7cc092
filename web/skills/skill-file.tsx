import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { MarketplaceSkill } from '../../src/features/payments/skills/schemas.ts'
import { AskDialog, focusHeading } from '../ui/modal.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { deleteSkill, marketplaceQuery, skillQuery } from './skills-api.ts'

export function SkillFile({ name }: { name: string }) {
  const query = useQuery(skillQuery(name))
  return (
    <Loaded query={query} what="skill" placeholder={<Skeleton className="h-24" />}>
      {(skill) => (
        <pre className="wrap-anywhere rounded-md bg-sunken p-3 text-[0.8125rem] whitespace-pre-wrap">
          {skill.content}
        </pre>
      )}
    </Loaded>
  )
}

export function DeleteSkillDialog({ skill, onClose }: { skill: MarketplaceSkill; onClose: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteSkill(skill.id),
    onSuccess: () => client.invalidateQueries({ queryKey: marketplaceQuery.queryKey }),
  })
  return (
    <AskDialog
      title={`Delete ${skill.name}?`}
      lead="Removes the skill from all your agents and permanently deletes its SKILL.md."
      verb="Delete skill"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate()}
      onClose={onClose}
      onCloseFocus={focusHeading}
    />
  )
}
