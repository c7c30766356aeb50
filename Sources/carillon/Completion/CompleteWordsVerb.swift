import Glibc
import PushAdmin
import PushConfiguration
import PushModel
import PushStore
import PushText
import PushTime

/// `carillon complete-words`: prints apps, devices or messages for a completion script, one on each line.
///
/// It never prints an error, because it would disturb a line that is being typed, and it ends in time whatever happens.
/// It leaves out names with characters that are special in a shell: a message id is chosen by a producer, and must not
/// become a part of a command.
enum CompleteWordsVerb {
    private static let maxCount = 100
    /// The time limit. A user who types notices more.
    private static let maxTime = Duration.milliseconds(300)

    static let verb = Verb(
        name: "complete-words", summary: "print candidates for a completion script",
        words: [
            Word("KIND", offers: .words(["app", "device", "message", "id"]), about: "app, device, message or id"),
            Word("PREFIX", about: "the beginning of the words", isOptional: true, mayBeEmpty: true),
        ],
        options: ControlOptions.options + [
            Option("within", value: "TIME", about: "the time after which nothing is printed (300ms)")
        ],
        examples: [("carillon complete-words app s", "print the apps that begin with s")]
    ) { arguments in
        let limit = arguments.text("within").flatMap { DurationText.read($0) } ?? maxTime
        let deadline = MonotonicTime.current() + limit
        Task.detached {
            try? await Task.sleep(for: limit)
            // Reading a file or a socket may still hang, and nothing has been printed.
            _exit(ExitCode.done.rawValue)
        }
        let words = await words(arguments, until: deadline)
        Terminal.output.write(words.map { $0 + "\n" }.joined())
        return .done
    }

    private static func words(_ arguments: Arguments, until deadline: MonotonicTime) async -> [String] {
        let prefix = arguments.wordIfGiven("PREFIX") ?? ""
        let search = CompletionSearch(prefix: prefix, maxCount: maxCount, deadline: deadline, arguments: arguments)
        return switch arguments.word("KIND") {
        case "app": search.apps()
        case "device": await search.devices()
        case "message": await search.messages()
        case "id": await search.messages() + (await search.devices())
        default: []
        }
    }
}

/// Finds the words that begin with what was typed.
private struct CompletionSearch {
    let prefix: String
    let maxCount: Int
    let deadline: MonotonicTime
    let arguments: Arguments

    func apps() -> [String] {
        let names = try? Configuration.appNames(file: arguments.text("config"))
        return Array((names ?? []).filter(isOffered).prefix(maxCount))
    }

    func devices() async -> [String] {
        var found: [String] = []
        var cursor: String?
        repeat {
            guard
                let page = await ask(
                    "/v1/devices", after: cursor, limit: DeviceSearch.maxPageSize, for: DeviceListAnswer.self)
            else { break }
            found += page.devices.map(\.id).filter(isOffered)
            cursor = page.next.text
        } while cursor != nil && found.count < maxCount
        return Array(found.prefix(maxCount))
    }

    /// Returns recent messages, the newest first.
    func messages() async -> [String] {
        let page = await ask(
            "/v1/messages", after: nil, limit: ListMessages.maxPageSize, for: MessagePage.self)
        return Array((page?.messages ?? []).map(\.id).filter(isOffered).prefix(maxCount))
    }

    private func ask<Value: Decodable>(
        _ path: String, after cursor: String?, limit: Int, for type: Value.Type
    ) async -> Value? {
        let rest = deadline - MonotonicTime.current()
        guard rest > .zero, let directory = try? dataDirectory else { return nil }
        let client = AdminClient(dataDirectory: directory, deadline: rest)
        return try? await client.ask(
            "GET", at: path + AdminQuery.encoded([("after", cursor), ("limit", "\(limit)")]), for: type)
    }

    private var dataDirectory: String {
        get throws {
            try Configuration.dataDirectory(flag: arguments.text("data"), file: arguments.text("config"))
        }
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
