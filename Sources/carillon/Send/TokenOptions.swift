import Glibc
import PushModel
import PushTransport

/// The tokens of a verb: from `--token-file`, which only their reader sees, or from the command line, which every user of
/// the machine sees in the list of processes.
enum TokenOptions {
    static let options: [Option] = [
        Option(
            "token", "HEX",
            "the device: hexadecimal, <with brackets and spaces>, or base64 (several with --via);\n"
                + "other users see it in the list of processes: --token-file hides it", mayRepeat: true),
        Option("token-file", "FILE", "the same from a file, or - for standard input: one token a line"),
    ]

    static let caution = caution(about: "the value of --token", option: "token-file")

    private static let longest = 4 << 20

    static func isGiven(_ arguments: Arguments) -> Bool { arguments.has("token") || arguments.has("token-file") }

    /// For verbs that take one token as a word.
    static let fileOption = Option(
        "token-file", "FILE",
        "TOKEN from a file, or from - for standard input: other users see a word in the list of\nprocesses")

    /// What to say when a token stands on the command line.
    ///
    /// - Parameters:
    ///   - place: where it stands, such as `--token`.
    ///   - option: what takes a file in its place.
    static func caution(about place: String, option: String) -> String {
        "caution: every user of this machine can see \(place) in the list of processes; --\(option) FILE, or --\(option) - "
            + "for standard input, hides it"
    }

    /// The one token of a verb that takes it as a word or from a file; nil if neither is given.
    ///
    /// - Parameters:
    ///   - word: the name of the word, for messages.
    ///   - text: what was given for it.
    static func one(
        _ arguments: Arguments, word: String, text: String?, option: String = "token-file"
    ) throws(Failure) -> DeviceToken? {
        guard let path = arguments.text(option) else {
            guard let text else { return nil }
            return try PastedToken.read(text, option: word)
        }
        guard text == nil else { throw Failure(.usage, "\(word) goes without '--\(option)': both are the token") }
        let lines = try lines(path, option: option)
        guard lines.count == 1 else {
            throw Failure(.badInput, "'--\(option)' has \(lines.count) lines in it, and wants one token")
        }
        return try PastedToken.read(lines[0], option: "'--\(option)'")
    }

    /// All of them, at least one.
    static func read(_ arguments: Arguments) throws(Failure) -> [DeviceToken] {
        if arguments.has("token"), arguments.has("token-file") {
            throw Failure(.usage, "'--token' goes without '--token-file': both say to which device")
        }
        var tokens: [DeviceToken] = []
        if let path = arguments.text("token-file") {
            if path == "-", arguments.text("payload") == "-" {
                throw Failure(.usage, "'--token-file -' goes without '--payload -': standard input is read once")
            }
            for line in try lines(path, option: "token-file") {
                tokens.append(try PastedToken.read(line, option: "a line of '--token-file'"))
            }
            guard !tokens.isEmpty else { throw Failure(.badInput, "'--token-file' has no token in it") }
        } else {
            for text in arguments.texts("token") { tokens.append(try PastedToken.read(text, option: "'--token'")) }
        }
        return tokens
    }

    /// Those that are not empty.
    private static func lines(_ path: String, option: String) throws(Failure) -> [String] {
        let bytes: [UInt8]
        do {
            let descriptor = path == "-" ? 0 : try BoundedFile.openToRead(path)
            defer { if descriptor != 0 { close(descriptor) } }
            bytes = try BoundedFile.read(from: descriptor, limit: longest)
        } catch {
            throw Failure(.badInput, "cannot read '--\(option)': \(error)")
        }
        guard bytes.count <= longest else {
            throw Failure(.badInput, "'--\(option)' has more than \(longest >> 20) MiB; a message names fewer devices")
        }
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map(String.init).filter { !$0.allSatisfy(\.isWhitespace) }
    }
}

extension DeviceToken {
    /// What may be shown of it: none of its digits, which are the right to send to the device.
    var size: String { "\(hexLength / 2) bytes, not shown" }
}
