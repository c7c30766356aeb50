import Glibc
import PushAPI
import PushConfiguration
import PushModel
import PushStore
import PushText
import PushTime

/// `carillon complete-words`: prints what a shell offers for the last word of a command line. Completion scripts call it.
///
/// Each line is a candidate, which may be followed by a tab and a description, or `<file>` or `<directory>`, which the
/// shell lists itself. It never prints an error, because it would disturb a line that is being typed, and it ends in time
/// whatever happens.
enum CompleteWords {
    static let name = "complete-words"

    /// - Parameter arguments: The time limit, and the words after `carillon`; the last one is being typed.
    static func run(_ arguments: [String], among verbs: [Verb]) async -> ExitCode {
        guard let limit = arguments.first.flatMap({ DurationText.read($0) }) else { return .usage }
        let deadline = MonotonicTime.current() + limit
        Task.detached {
            try? await Task.sleep(for: limit)
            // Reading a file or a socket may still hang, and nothing has been printed.
            _exit(ExitCode.done.rawValue)
        }
        let line = TypedLine(Array(arguments.dropFirst()), verbs: verbs)
        Terminal.output.write(await candidates(for: line, until: deadline).map { $0 + "\n" }.joined())
        return .done
    }

    private static func candidates(for line: TypedLine, until deadline: MonotonicTime) async -> [String] {
        let (values, prefix) = line.offers
        let search = CompletionSearch(prefix: prefix, deadline: deadline, line: line)
        let found =
            switch values {
            case .nothing: [String]()
            case .files: ["<file>"]
            case .directories: ["<directory>"]
            case .words(let words): words.filter { $0.hasPrefix(prefix) }.map { line.before + $0 }
            case .apps: search.apps()
            case .devices: await search.devices()
            case .messages: await search.messages()
            case .identifiers: await search.messages() + (await search.devices())
            }
        return line.names.map { "\($0.name)\t\(short($0.about))" } + found
    }

    /// Returns the beginning of a description, which has to fit one line of a list.
    private static func short(_ about: String) -> String {
        let text = about.split(separator: ";").first.map(String.init) ?? about
        return text.count <= 70 ? text : text.prefix(69) + "…"
    }
}

/// Finds the words that begin with what was typed.
///
/// It leaves out names with characters that are special in a shell: a message id is chosen by a producer, and must not
/// become a part of a command.
private struct CompletionSearch {
    private static let maxCount = 100

    let prefix: String
    let deadline: MonotonicTime
    let line: TypedLine

    func apps() -> [String] { offered((try? Configuration.appNames(file: line.places["config"])) ?? []) }

    func devices() async -> [String] {
        var found: [String] = []
        var cursor: String?
        repeat {
            guard
                let page = await ask(
                    "/v1/devices", after: cursor, limit: DeviceSearch.maxPageSize, for: DeviceListAnswer.self)
            else { break }
            found += offered(page.devices.map(\.id))
            cursor = page.next.text
        } while cursor != nil && found.count < Self.maxCount
        return Array(found.prefix(Self.maxCount))
    }

    /// Returns recent messages, the newest first.
    func messages() async -> [String] {
        let page = await ask("/v1/messages", after: nil, limit: ListMessages.maxPageSize, for: MessagePage.self)
        return offered((page?.messages ?? []).map(\.id))
    }

    private func ask<Value: Decodable>(
        _ path: String, after cursor: String?, limit: Int, for type: Value.Type
    ) async -> Value? {
        let rest = deadline - MonotonicTime.current()
        let directory = try? Configuration.dataDirectory(flag: line.places["data"], file: line.places["config"])
        guard rest > .zero, let directory else { return nil }
        let client = APIClient(dataDirectory: directory, deadline: rest)
        return try? await client.ask(
            "GET", at: path + APIQuery.encoded([("after", cursor), ("limit", "\(limit)")]), for: type)
    }

    private func offered(_ words: [String]) -> [String] {
        words.filter(isOffered).prefix(Self.maxCount).map { line.before + $0 }
    }

    private func isOffered(_ word: String) -> Bool {
        word.hasPrefix(prefix) && !word.isEmpty && !word.hasPrefix("-")
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._-+:@/,%=".utf8.contains(byte)
                }
            }
    }
}
