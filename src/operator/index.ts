/** What an operator author writes with; README.md beside this file tells how. */
export {
  anything,
  boolean,
  type Field,
  type FieldOptions,
  type Fields,
  integer,
  intOrString,
  list,
  type ListOptions,
  map,
  number,
  type NumberOptions,
  object,
  oneOf,
  optional,
  quantity,
  schemaField,
  string,
  type StringOptions,
} from './field.ts'
export { defineKind, type DraftOf, type Kind, type KindOptions, type ObjectOf, type VersionDefinition } from './kind.ts'
