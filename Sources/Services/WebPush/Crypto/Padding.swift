/// The padding of messages. The push service sees the length of a body, and so nearly that of the text.
///
/// The length is that of the next multiple of 128 bytes, up to 2048. Longer messages have none: Firefox on Android gets its
/// messages through another service, which takes far less than 4096 bytes.
enum Padding {
    private static let step = 128
    private static let limit = 2048

    /// Returns the number of zeros behind a message of that length.
    static func length(for count: Int) -> Int {
        guard count < limit else { return 0 }
        let rest = count % step
        return rest == 0 && count > 0 ? 0 : step - rest
    }
}
