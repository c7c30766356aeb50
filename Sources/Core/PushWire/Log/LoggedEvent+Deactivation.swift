package import PushModel
import PushTime

extension LoggedEvent {
    /// Returns the deactivation that the event records; nil for other events.
    ///
    /// - Parameters:
    ///   - apps: The apps that ``LogSegment/walk(since:_:)`` passed with the event.
    ///   - bytes: The bytes that it passed.
    package func deactivation(apps: [AppID], bytes: UnsafeRawBufferPointer) -> Deactivation? {
        guard kind == .deviceDeactivated, let device, let app else { return nil }
        var evidence = evidence
        var erases = erases
        if evidence == nil, let details {
            // Early versions wrote both as members of the JSON object.
            let text = unsafe [UInt8(ascii: "{")] + Array(bytes[details]) + [UInt8(ascii: "}")]
            if let document = try? JSONDocument(text) {
                evidence = document.value("time", in: document.root).flatMap { document.integer($0) }
                    .map { WallTime(milliseconds: $0) }
                erases = document.value("erased", in: document.root).flatMap { document.bool($0) } ?? false
            }
        }
        return Deactivation(
            of: device, app: apps[app], reason: reason.map { unsafe String(decoding: bytes[$0], as: UTF8.self) },
            evidence: evidence ?? time, erases: erases)
    }
}
