import Glibc
import PushModel
import PushTransport

/// The tokens of `carillon send`: from `--token-file`, which only their reader sees, or from `--token`, which every user
/// of the machine sees in the list of processes.
enum TokenOptions {
    static let options: [Option] = [
        Option(
            "token", "HEX",
            "the device: hexadecimal, <with brackets and spaces>, or base64 (several with --via);\n"
                + "other users see it in the list of processes: --token-file hides it", mayRepeat: true),
        Option("token-file", "FILE", "the same from a file, or - for standard input: one token a line"),
    ]

    static let caution =
        "caution: every user of this machine can see the value of --token in the list of processes; --token-file FILE, or "
        + "--token-file - for standard input, hides it"

    private static let longest = 4 << 20

    static func isGiven(_ arguments: Arguments) -> Bool { arguments.has("token") || arguments.has("token-file") }

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
            for line in try lines(path) {
                tokens.append(try PastedToken.read(line, option: "a line of '--token-file'"))
            }
            guard !tokens.isEmpty else { throw Failure(.badInput, "'--token-file' has no token in it") }
        } else {
            for text in arguments.texts("token") { tokens.append(try PastedToken.read(text, option: "'--token'")) }
        }
        return tokens
    }

    /// Those that are not empty.
    private static func lines(_ path: String) throws(Failure) -> [String] {
        let bytes: [UInt8]
        do {
            let descriptor = path == "-" ? 0 : try BoundedFile.openToRead(path)
            defer { if descriptor != 0 { close(descriptor) } }
            bytes = try BoundedFile.read(from: descriptor, limit: longest)
        } catch {
            throw Failure(.badInput, "cannot read '--token-file': \(error)")
        }
        guard bytes.count <= longest else {
            throw Failure(.badInput, "'--token-file' has more than \(longest >> 20) MiB; a message names fewer devices")
        }
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map(String.init).filter { !$0.allSatisfy(\.isWhitespace) }
    }
}
