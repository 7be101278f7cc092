import type { ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import type { useForm } from '../ui/form.ts'
import { FormNotice } from './form-notice.tsx'

type SectionFormProps = {
  form: Pick<ReturnType<typeof useForm>, 'formRef' | 'problem' | 'isPending' | 'onSubmit'>
  action: string
  look?: 'primary'
  children: ReactNode
}

/** Shows the form's error above its fields and the submit button below. */
export function SectionForm({
  form: { formRef, problem, isPending, onSubmit },
  action,
  look,
  children,
}: SectionFormProps) {
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      {children}
      <Button type="submit" {...(look && { look })} className="justify-self-start" isPending={isPending}>
        {action}
      </Button>
    </form>
  )
}
