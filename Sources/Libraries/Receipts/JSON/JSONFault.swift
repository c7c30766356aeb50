/// The reason why a text is not acceptable JSON.
enum JSONFault: Error, Hashable {
    /// The text violates the grammar at this byte, or is nested too deeply.
    case malformed(String, position: Int)
    case duplicateKey(String)
}
