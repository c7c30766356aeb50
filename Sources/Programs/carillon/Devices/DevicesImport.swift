import FoundationEssentials
import Glibc
import PushAPI
import PushLoop
import PushModel
import PushText
import PushTime
import PushWire

/// `carillon devices import`: registers the devices of a file.
enum DevicesImport {
    static let verb = Verb(
        name: "devices import", summary: "register the devices of a file",
        words: [Word("FILE", about: "CSV with a heading, or one JSON object per line; - for standard input")],
        options: [
            Option(
                "format", value: "NAME", offers: .choice(DeviceFormat.self),
                about: "csv or jsonl, if the file name does not end in .csv, .jsonl or .ndjson. Columns or keys: "
                    + "\(DeviceInput.keys.joined(separator: ", ")). "
                    + "Empty values change nothing. In a CSV file, semicolons separate tags. Invalid lines are "
                    + "rejected, and the others are imported. Devices that are inactive in an export are left "
                    + "out, because registering them would reactivate them: active is true or false, in any case"),
            Option("app", value: "APP", about: "the app of lines that do not name one"),
            Option("dry-run", about: "show the result, and register nothing"),
        ] + DevicesVerb.options,
        examples: [
            ("carillon devices import devices.csv --app shop --dry-run", "check a file and count its new devices"),
            (
                "carillon devices export | ssh new-host carillon devices import - --format csv",
                "move the devices to another host"
            ),
        ]
    ) { arguments in
        let file = arguments.word("FILE")
        let format = try DeviceFormat.choose(arguments.text("format"), file: file == "-" ? nil : file)
        guard let format else {
            throw Failure(
                .usage,
                "unknown format of \(file == "-" ? "the input" : "'\(file)'"): give --format csv or --format jsonl")
        }
        if let app = arguments.text("app"), AppID(app) == nil {
            throw Failure(
                .usage,
                "'\(PlainText.line(app, limit: 80))' is not an app id: 1 to 64 letters, digits, '.', '_' and '-'"
            )
        }
        let input = try InputFile(file)
        var run = ImportRun(
            client: try ControlOptions.client(arguments), isTrial: arguments.has("dry-run"),
            isJSON: arguments.has("json"))
        var reader = DeviceFileReader(format, app: arguments.text("app"))
        do {
            while let piece = try input.read() {
                reader.received(piece)
                while let item = try reader.next() { try await run.take(item, at: input.share) }
            }
            reader.ended()
            while let item = try reader.next() { try await run.take(item, at: input.share) }
            try await run.finish()
        } catch let failure as Failure {
            run.report()
            throw Failure(failure.code, "\(failure)\(run.whereItStopped)")
        }
        run.report()
        return run.counts.refused > 0 ? .badInput : .done
    }
}

/// A file or the standard input, read in pieces.
private final class InputFile {
    private let descriptor: CInt
    private let name: String
    /// The size of a file; nil for what is no file.
    private let size: Int?
    private var done = 0

    /// How much of the file is read, from 0 to 1; nil if its size is not known.
    var share: Double? { size.map { min(1, Double(done) / Double($0)) } }

    init(_ path: String) throws(Failure) {
        name = path
        guard path != "-" else {
            (descriptor, size) = (0, nil)
            return
        }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = SystemError.current
            throw Failure(
                error.number == EACCES ? .notPermitted : .badInput,
                "cannot read \(path): "
                    + (error.number == ENOENT ? "no such file" : "\(error)"))
        }
        var facts = stat()
        let isFile = fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && facts.st_size > 0
        size = isFile ? Int(facts.st_size) : nil
    }

    deinit {
        if descriptor != 0 { close(descriptor) }
    }

    /// Returns the next piece, or nil at the end of the file.
    func read() throws(Failure) -> [UInt8]? {
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count > 0 {
                done += count
                return Array(piece[..<count])
            }
            if count == 0 { return nil }
            if errno != EINTR { throw Failure(.badInput, "cannot read \(name): \(SystemError.current)") }
        }
    }
}

/// Submits registrations in batches and counts the results.
struct ImportRun {
    struct Counts: Codable, Equatable {
        var new = 0
        var known = 0
        var reactivated = 0
        var refused = 0
        /// The number of devices that were left out because they are inactive in the file.
        var inactive = 0

        var total: Int { new + known + reactivated + refused + inactive }
    }

    private struct Report: Encodable {
        let dryRun: Bool
        let counts: Counts
        let refusals: [Refusal]

        enum CodingKeys: String, CodingKey {
            case counts, refusals
            case dryRun = "dry_run"
        }
    }

    struct Refusal: Codable, Equatable {
        let line: Int
        let reason: String
    }

    static let maxBytes = 512 * 1024
    /// The maximum number of rejected lines that are reported one by one.
    static let maxReported = 1000

    private let client: ControlClient
    private let isTrial: Bool
    private let isJSON: Bool
    private let terminal = Terminal.error
    private let progress = ProgressLine()
    private var lines: [Int] = []
    private var body: [UInt8] = []
    private var lastDone = 0
    private var refusals: [Refusal] = []
    private(set) var counts = Counts()

    init(client: ControlClient, isTrial: Bool, isJSON: Bool) {
        self.client = client
        self.isTrial = isTrial
        self.isJSON = isJSON
    }

    /// - Parameter share: how much of the file is read; nil if its size is not known.
    mutating func take(_ item: DeviceFileReader.Item, at share: Double?) async throws {
        switch item {
        case .device(let line, let device):
            let text = device.json.bytes
            if lines.count == RegisterDevices.maxRegistrations || body.count + text.count > Self.maxBytes {
                try await send()
            }
            body += lines.isEmpty ? Array("{\"devices\":[".utf8) : [UInt8(ascii: ",")]
            body += text
            lines.append(line)
        case .inactive: counts.inactive += 1
        case .refused(let line, let reason): refuse(line, because: reason)
        }
        progress.show("\(StatsScreen.number(counts.total)) devices", share: share)
    }

    mutating func finish() async throws {
        if !lines.isEmpty { try await send() }
    }

    private mutating func send() async throws {
        let answer = try await client.ask(
            "POST", at: "/v1/devices" + (isTrial ? "?dry_run=true" : ""), body: body + Array("]}".utf8),
            for: RegistrationListAnswer.self)
        guard answer.devices.count == lines.count else {
            throw Failure(
                .failed, "invalid response: \(answer.devices.count) results for \(lines.count) devices")
        }
        for (line, device) in zip(lines, answer.devices) {
            switch device.change {
            case "registered": counts.new += 1
            case "known": counts.known += 1
            case "reactivated": counts.reactivated += 1
            default: refuse(line, because: device.error?.detail ?? "rejected without a reason")
            }
        }
        lastDone = lines.last ?? lastDone
        lines = []
        body = []
    }

    private mutating func refuse(_ line: Int, because reason: String) {
        counts.refused += 1
        guard refusals.count < Self.maxReported else { return }
        refusals.append(Refusal(line: line, reason: PlainText.line(reason)))
        if !isJSON {
            progress.clear()
            terminal.write("line \(line): \(terminal.colored("rejected", in: .red)): \(PlainText.line(reason))\n")
        }
    }

    var whereItStopped: String {
        lastDone > 0
            ? "; lines up to \(lastDone) were processed; correct the error and import the whole file again, which causes "
                + "no duplicates" : ""
    }

    func report() {
        progress.clear()
        if isJSON {
            ControlOptions.write(Report(dryRun: isTrial, counts: counts, refusals: refusals))
            return
        }
        if counts.refused > refusals.count {
            terminal.write("\(counts.refused - refusals.count) more rejected lines are not shown\n")
        }
        var parts = ["\(counts.new) new", "\(counts.known) known", "\(counts.reactivated) reactivated"]
        parts.append("\(counts.refused) rejected")
        if counts.inactive > 0 { parts.append("\(counts.inactive) left out (inactive in the file)") }
        Terminal.output.write(
            (isTrial ? "Nothing was registered. The result would be: " : "Imported: ") + parts.joined(separator: ", ")
                + "\n")
    }
}
