import Glibc
import PushConfiguration
import PushModel
import PushTransport
import PushWire

/// The token options of a verb: `--token-file`, which keeps tokens private, or the command line, which all users of the
/// machine can see in the process list.
enum TokenOptions {
    static let options: [Option] = [
        Option(
            "token", value: "HEX",
            about: "the device token: hexadecimal, <with brackets and spaces>, or base64 (several with --via); "
                + "other users can see it in the process list: --token-file hides it", mayRepeat: true),
        Option(
            "token-file", value: "FILE", about: "read tokens from a file, or - for standard input: one token per line"),
    ]

    static let caution = caution(about: "the value of --token", option: "token-file")

    private static let maxSize = 4 << 20

    static func isGiven(_ arguments: Arguments) -> Bool { arguments.has("token") || arguments.has("token-file") }

    /// The option for verbs that take one token as a positional argument.
    static let fileOption = Option(
        "token-file", value: "FILE",
        about: "read TOKEN from a file, or - for standard input, to hide it from the process list")

    /// Returns the warning for a token on the command line.
    ///
    /// - Parameters:
    ///   - argument: The argument that holds the token, such as `--token`.
    ///   - option: The option that reads the token from a file instead.
    static func caution(about argument: String, option: String) -> String {
        "warning: every user of this machine can see \(argument) in the process list; --\(option) FILE, or --\(option) - "
            + "for standard input, hides it"
    }

    /// Returns the token of a verb that takes it as a positional argument or from a file; nil if neither is given.
    ///
    /// - Parameters:
    ///   - word: The name of the positional argument, for error messages.
    ///   - text: The value of the positional argument.
    ///   - codec: Reads the token; nil for the codec of the first service that can.
    static func one(
        _ arguments: Arguments, word: String, text: String?, option: String = "token-file",
        by codec: (any ServiceCodec)? = nil
    ) throws(Failure) -> GivenAddress? {
        guard let path = arguments.text(option) else {
            guard let text else { return nil }
            return try pasted(text, option: word, by: codec)
        }
        guard text == nil else {
            throw Failure(.usage, "\(word) cannot be combined with '--\(option)': both give the token")
        }
        let lines = try lines(path, option: option)
        guard lines.count == 1 else {
            throw Failure(.badInput, "'--\(option)' has \(lines.count) lines; it must contain one token")
        }
        return try pasted(lines[0], option: "'--\(option)'", by: codec)
    }

    /// Returns all tokens, at least one.
    ///
    /// - Parameter codec: Reads the addresses of the app; nil if the app is not known here.
    static func read(
        _ arguments: Arguments, by codec: (any ServiceCodec)? = nil
    ) throws(Failure) -> [GivenAddress] {
        if arguments.has("token"), arguments.has("token-file") {
            throw Failure(.usage, "'--token' cannot be combined with '--token-file': both give the devices")
        }
        var tokens: [GivenAddress] = []
        if let path = arguments.text("token-file") {
            if path == "-", arguments.text("payload") == "-" {
                throw Failure(
                    .usage, "'--token-file -' cannot be combined with '--payload -': standard input is read once")
            }
            for line in try lines(path, option: "token-file") {
                tokens.append(try pasted(line, option: "a line of '--token-file'", by: codec))
            }
            guard !tokens.isEmpty else { throw Failure(.badInput, "'--token-file' contains no token") }
        } else {
            for text in arguments.texts("token") { tokens.append(try pasted(text, option: "'--token'", by: codec)) }
        }
        return tokens
    }

    /// Reads a token as people paste it.
    ///
    /// - Parameter option: The option or place of the text, for error messages.
    static func pasted(
        _ text: String, option: String, by codec: (any ServiceCodec)? = nil
    ) throws(Failure) -> GivenAddress {
        let codec = codec ?? PushServices.codec(reading: text)
        do {
            return GivenAddress(address: try codec.address(pastedAs: text), codec: codec)
        } catch {
            throw Failure(.badInput, "\(option) \(error.problem)")
        }
    }

    /// Returns the lines that are not empty.
    private static func lines(_ path: String, option: String) throws(Failure) -> [String] {
        let bytes: [UInt8]
        do {
            let descriptor = path == "-" ? 0 : try BoundedFile.openToRead(path)
            defer { if descriptor != 0 { close(descriptor) } }
            bytes = try BoundedFile.read(from: descriptor, limit: maxSize)
        } catch {
            throw Failure(.badInput, "cannot read '--\(option)': \(error)")
        }
        guard bytes.count <= maxSize else {
            throw Failure(.badInput, "'--\(option)' has more than \(maxSize >> 20) MiB: too many tokens for a message")
        }
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map(String.init).filter { !$0.allSatisfy(\.isWhitespace) }
    }
}

/// An address that a person gave, with the codec that has read it.
struct GivenAddress: Sendable {
    let address: Address
    let codec: any ServiceCodec

    var text: String { codec.text(of: address) }
}

extension Address {
    /// A replacement for the token in output. It contains none of the digits, because a token grants the right to send to
    /// the device.
    var size: String { "\(hexLength / 2) bytes, not shown" }
}
