import APNs
import FoundationEssentials
import Glibc
import PushLoop
import PushText
import PushTransport
import PushWire

/// The options for the content of a notification: its payload as JSON, or the parts to build it from.
enum PayloadOptions {
    static let options: [Option] = [
        Option(
            "payload", value: "JSON", offers: .files,
            about: "the payload: '{…}', a file, or - for standard input; replaces the next options"),
        Option("title", value: "TEXT", about: "the title of the alert", mayBeEmpty: true),
        Option("subtitle", value: "TEXT", about: "the subtitle of the alert", mayBeEmpty: true),
        Option("body", value: "TEXT", about: "the text of the alert", mayBeEmpty: true),
        Option("badge", value: "N", about: "the number on the app's icon; 0 removes it"),
        Option("sound", value: "NAME", about: "'default', or a sound of the app"),
        Option("category", value: "NAME", about: "the category, which defines the actions of the notification"),
        Option("thread-id", value: "ID", about: "the group in which the device shows the notification"),
        Option("content-available", about: "wake the app; without other content, a background notification"),
        Option("mutable-content", about: "let the app's extension modify the notification before it is shown"),
        Option("custom", value: "KEY=JSON", about: "a custom key next to aps", mayRepeat: true),
    ]

    /// The maximum size of a payload that is read. It is larger than any service accepts, so that the payload rules report
    /// the exact limit.
    private static let maxSize = 1 << 20

    /// Returns the payload, or nil if none of these options is given.
    static func read(_ arguments: Arguments) throws(Failure) -> [UInt8]? {
        let parts = options.dropFirst().map(\.name).filter { arguments.has($0) }
        guard let source = arguments.text("payload") else { return parts.isEmpty ? nil : try built(arguments) }
        if let part = parts.first {
            throw Failure(.usage, "'--\(part)' cannot be combined with '--payload', which is the whole payload")
        }
        if source.drop(while: \.isWhitespace).hasPrefix("{") { return Array(source.utf8) }
        return try file(source)
    }

    /// Whether the notification only wakes the app.
    static func isBackground(_ arguments: Arguments) -> Bool {
        arguments.has("content-available")
            && !["title", "subtitle", "body", "badge", "sound"].contains { arguments.has($0) }
    }

    /// Returns the plain fields that the options describe, for push services other than Apple's.
    static func fields(_ arguments: Arguments) throws(Failure) -> [String: JSONValue] {
        for name in ["category", "thread-id", "content-available", "mutable-content"] where arguments.has(name) {
            throw Failure(.usage, "'--\(name)' is for apps of Apple's push service; give '--payload' instead")
        }
        var fields: [String: JSONValue] = [:]
        var alert: [String: JSONValue] = [:]
        for name in ["title", "subtitle", "body"] { alert[name] = arguments.text(name).map { .string($0) } }
        if !alert.isEmpty { fields["alert"] = .object(alert) }
        fields["badge"] = try badge(arguments).map { .integer($0) }
        fields["sound"] = arguments.text("sound").map { .string($0) }
        let custom = try customMembers(arguments.texts("custom"))
        if !custom.isEmpty { fields["custom"] = .object(custom) }
        return fields
    }

    private static func file(_ path: String) throws(Failure) -> [UInt8] {
        let name = path == "-" ? "standard input" : PlainText.line(path)
        let descriptor: CInt
        do {
            descriptor = path == "-" ? 0 : try BoundedFile.openToRead(path)
        } catch {
            throw Failure(
                .badInput, "cannot read the payload \(name): \(error); '--payload' takes '{…}', a file or -")
        }
        defer { if descriptor != 0 { close(descriptor) } }
        let bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(from: descriptor, limit: maxSize)
        } catch {
            throw Failure(.badInput, "cannot read the payload from \(name): \(error)")
        }
        guard bytes.count <= maxSize else {
            throw Failure(.badInput, "\(name) has more than \(maxSize >> 20) MiB: too large for a payload")
        }
        return bytes
    }

    private static func built(_ arguments: Arguments) throws(Failure) -> [UInt8] {
        var aps = Aps()
        let (title, subtitle, body) = (arguments.text("title"), arguments.text("subtitle"), arguments.text("body"))
        if title != nil || subtitle != nil || body != nil {
            aps.alert = .parts(AlertParts(title: title, subtitle: subtitle, body: body))
        }
        aps.badge = try badge(arguments)
        aps.sound = arguments.text("sound").map { .named($0) }
        aps.category = arguments.text("category")
        aps.threadID = arguments.text("thread-id")
        aps.isContentAvailable = arguments.has("content-available")
        aps.isMutable = arguments.has("mutable-content")
        return Payload(aps: aps, custom: try custom(arguments.texts("custom"))).encoded()
    }

    private static func badge(_ arguments: Arguments) throws(Failure) -> Int64? {
        guard let text = arguments.text("badge") else { return nil }
        guard let badge = Int64(text), (0...Int64(Int32.max)).contains(badge) else {
            throw Failure(
                .usage, "'--badge' must be a whole number of 0 or more, not '\(PlainText.line(text, limit: 20))'")
        }
        return badge
    }

    private static func custom(_ texts: [String]) throws(Failure) -> CustomKeys {
        guard let keys = CustomKeys(try customMembers(texts)) else {
            throw Failure(
                .badInput,
                "'--custom' cannot set \(CustomKeys.reserved.sorted().joined(separator: ", ")); use --payload for those"
            )
        }
        return keys
    }

    private static func customMembers(_ texts: [String]) throws(Failure) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw Failure(.usage, "'--custom' needs KEY=JSON, as in --custom order=4711 or --custom 'name=\"Ada\"'")
            }
            let key = String(parts[0])
            let shown = PlainText.line(key, limit: 40)
            guard members[key] == nil else { throw Failure(.usage, "'--custom \(shown)=…' was given twice") }
            do {
                let document = try JSONDocument(Array(parts[1].utf8))
                members[key] = document.value(at: document.root)
            } catch {
                throw Failure(
                    .badInput,
                    "'--custom \(shown)=…' is not valid JSON \(error); text needs quotation marks: --custom '\(shown)=\"…\"'"
                )
            }
        }
        return members
    }
}
