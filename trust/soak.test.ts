import { testShortForm } from './short-form.ts'
import { soak } from './soak.ts'

testShortForm(soak)
