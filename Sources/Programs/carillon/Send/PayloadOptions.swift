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
        Option("thread", value: "ID", about: "the group in which the device shows the notification"),
        Option("image", value: "URL", about: "an image, which the app's extension adds to the notification"),
        Option("link", value: "URL", about: "what the app opens when someone taps the notification"),
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

    /// The options that only a payload of Apple can have.
    private static let ofPayloads = ["payload", "content-available", "mutable-content"]

    /// Returns the plain fields of an envelope, from which the service of the app builds a payload; nil if there are none,
    /// or if an option needs a payload.
    static func plainFields(_ arguments: Arguments) throws(Failure) -> [String: JSONValue]? {
        guard options.contains(where: { arguments.has($0.name) }), !ofPayloads.contains(where: { arguments.has($0) })
        else { return nil }
        return try fields(arguments, custom: custom(arguments).members)
    }

    /// Whether the notification only wakes the app.
    static func isBackground(_ arguments: Arguments) -> Bool {
        arguments.has("content-available")
            && !["title", "subtitle", "body", "badge", "sound"].contains { arguments.has($0) }
    }

    /// Returns the plain fields that the options describe, for push services other than Apple's.
    static func fields(_ arguments: Arguments) throws(Failure) -> [String: JSONValue] {
        for name in ["content-available", "mutable-content"] where arguments.has(name) {
            throw Failure(.usage, "'--\(name)' is for apps of Apple's push service; give '--payload' instead")
        }
        return try fields(arguments, custom: customMembers(arguments))
    }

    private static func fields(
        _ arguments: Arguments, custom: [String: JSONValue]
    ) throws(Failure) -> [String: JSONValue] {
        var fields: [String: JSONValue] = [:]
        fields["alert"] = alert(arguments)?.json
        fields["badge"] = try badge(arguments).map { .integer($0) }
        for name in ["sound", "category", "thread", "image", "link"] { fields[name] = .text(arguments.text(name)) }
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
        var aps = Aps(alert: alert(arguments), badge: try badge(arguments), sound: arguments.text("sound"))
        aps.category = arguments.text("category")
        aps.threadID = arguments.text("thread")
        aps.isContentAvailable = arguments.has("content-available")
        aps.isMutable = arguments.has("mutable-content") || arguments.has("image")
        return Payload(aps: aps, custom: try custom(arguments, and: ["image", "link"])).encoded()
    }

    private static func alert(_ arguments: Arguments) -> Alert? {
        let (title, subtitle, body) = (arguments.text("title"), arguments.text("subtitle"), arguments.text("body"))
        guard title != nil || subtitle != nil || body != nil else { return nil }
        return Alert(title: title, subtitle: subtitle, body: body)
    }

    private static func badge(_ arguments: Arguments) throws(Failure) -> Int64? {
        guard let text = arguments.text("badge") else { return nil }
        guard let badge = Int64(text), (0...Int64(Int32.max)).contains(badge) else {
            throw Failure(
                .usage, "'--badge' must be a whole number of 0 or more, not '\(PlainText.line(text, limit: 20))'")
        }
        return badge
    }

    /// Returns the keys beside `aps`.
    ///
    /// - Parameter beside: The options that are such a key, too.
    private static func custom(
        _ arguments: Arguments, and beside: [String] = []
    ) throws(Failure) -> CustomKeys {
        var members = try customMembers(arguments)
        for name in ["image", "link"] where arguments.has(name) && members[name] != nil {
            throw Failure(.usage, "'--custom \(name)=…' cannot be combined with '--\(name)': both set the same key")
        }
        for name in beside { members[name] = members[name] ?? arguments.text(name).map { .string($0) } }
        guard let keys = CustomKeys(members) else {
            throw Failure(
                .badInput,
                "'--custom' cannot set \(CustomKeys.reserved.sorted().joined(separator: ", ")); use --payload for those"
            )
        }
        return keys
    }

    private static func customMembers(_ arguments: Arguments) throws(Failure) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for text in arguments.texts("custom") {
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
