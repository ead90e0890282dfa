/** Files of charts are read without the byte order mark that some editors write. */
export function withoutByteOrderMark(data: Uint8Array): Uint8Array {
  return data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf ? data.subarray(3) : data
}
