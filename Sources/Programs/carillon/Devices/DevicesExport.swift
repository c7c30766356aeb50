import FoundationEssentials
import Glibc
import PushAPI
import PushLoop
import PushTime

/// `carillon devices export`: writes a backup of the registry.
enum DevicesExport {
    static let verb = Verb(
        name: "devices export", summary: "write a backup of devices WITH THEIR TOKENS: protect it like a key",
        options: [
            Option(
                "out", value: "FILE", about: "write to this file, readable only by you (else standard output)",
                earlierName: "to"),
            Option(
                "format", value: "NAME", offers: .choice(DeviceFormat.self),
                about: "csv or jsonl (from the file extension, else csv)"),
        ] + DevicesVerb.filters + ControlOptions.options,
        examples: [
            ("carillon devices export --out devices.csv", "export all devices, for 'carillon devices import'"),
            (
                "carillon devices export --app shop --active --format jsonl | gzip > shop.jsonl.gz",
                "export the active devices of one app, compressed"
            ),
        ]
    ) { arguments in
        let path = arguments.text("out")
        let format = try DeviceFormat.choose(arguments.text("format"), file: path) ?? .csv
        return try await ControlOptions.reading(arguments, for: "devices export") { client in
            try await export(from: client, as: format, to: path, with: arguments)
        }
    }

    private static func export(
        from client: ControlClient, as format: DeviceFormat, to path: String?, with arguments: Arguments
    ) async throws -> ExitCode {
        var run = ExportRun(format: format, output: try OutputFile(path))
        run.expected = try await number(of: client, with: arguments)
        var cursor: String?
        repeat {
            let page = try await client.ask(
                "GET",
                at: "/v1/export/devices"
                    + (try DevicesVerb.query(arguments, after: cursor, limit: DeviceSearch.maxPageSize)),
                for: DeviceExportAnswer.self)
            try run.write(page.devices)
            cursor = page.next.text
        } while cursor != nil
        try run.finish()
        return .done
    }

    /// Returns how many devices there are; nil if only some of them are exported.
    private static func number(of client: ControlClient, with arguments: Arguments) async throws -> UInt64? {
        let all = try DevicesVerb.query(arguments, after: nil, limit: DeviceSearch.maxPageSize)
        guard all == APIQuery.encoded([("limit", "\(DeviceSearch.maxPageSize)")]) else { return nil }
        return try? await client.ask("GET", at: "/v1/stats", for: StatsAnswer.self).registry?.devices
    }
}

private struct ExportRun {
    private let format: DeviceFormat
    private let output: OutputFile
    private let progress = ProgressLine()
    /// The number of all devices, if it is known.
    var expected: UInt64?
    private var count = 0
    private var withoutToken = 0
    private var hasHeading = false

    init(format: DeviceFormat, output: OutputFile) {
        self.format = format
        self.output = output
    }

    mutating func write(_ devices: [ExportedDevice]) throws(Failure) {
        var text = ""
        writeHeading(&text)
        for device in devices {
            guard let token = device.token else {
                withoutToken += 1
                continue
            }
            count += 1
            switch format {
            case .csv: text += CSVWriter.line(Self.fields(device.device, token: token))
            case .jsonl: text += String(decoding: APIAnswer.json(device).body, as: UTF8.self)
            }
        }
        try output.write(text)
        let done = count + withoutToken
        progress.show(
            "\(StatsScreen.number(count))\(expected.map { " of \(StatsScreen.number($0))" } ?? "") devices",
            share: expected.flatMap { $0 > 0 ? min(1, Double(done) / Double($0)) : nil })
    }

    mutating func finish() throws(Failure) {
        try output.finish()
        progress.clear()
        let left =
            withoutToken == 0
            ? "" : "; left out \(withoutToken) \(withoutToken == 1 ? "device" : "devices") without a token"
        Terminal.error.write(
            "exported \(count) \(count == 1 ? "device" : "devices") with tokens\(output.name.map { " to \($0)" } ?? "")\(left)\n"
        )
    }

    private mutating func writeHeading(_ text: inout String) {
        if format == .csv, !hasHeading { text += CSVWriter.line(DeviceFormat.columns) }
        hasHeading = true
    }

    /// Returns the fields of a device in the order of ``DeviceFormat/columns``.
    private static func fields(_ device: DeviceAnswer, token: String) -> [String] {
        [
            device.app, token, device.kind ?? "", device.activity ?? "", device.activityType ?? "",
            device.installation ?? "", device.user ?? "", TagColumn.text(device.tags), device.locale ?? "",
            device.timeZone ?? "", device.platform ?? "", device.appVersion ?? "", device.id, "\(device.active)",
            device.registeredAt.map { "\($0)" } ?? "", device.seenAt.map { "\($0)" } ?? "",
            device.deactivatedAt.map { "\($0)" } ?? "", device.reason ?? "",
        ]
    }
}

/// The standard output, or a file that only this user can read. The file gets its name when it is complete. Until then it
/// has none, where the file system supports that, so that nothing is left if the process is killed.
private final class OutputFile {
    /// O_TMPFILE, which is not imported because it is a macro.
    private static let withoutName: CInt = 0o20_000_000 | O_DIRECTORY

    let name: String?
    private let descriptor: CInt
    /// The name that a file has until it is complete.
    private let partial: String
    private var isNamed: Bool

    init(_ path: String?) throws(Failure) {
        name = path
        partial = (path ?? "") + ".partial"
        isNamed = false
        guard let path else {
            descriptor = 1
            return
        }
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        // Without /proc, a file without a name could not get one later.
        let mayBeNamed = access("/proc/self/fd", X_OK) == 0
        var opened = mayBeNamed ? open(directory, Self.withoutName | O_WRONLY | O_CLOEXEC, 0o600) : -1
        if opened < 0 {
            // A leftover file is removed, not overwritten: it may belong to another user, or be a link.
            unlink(partial)
            opened = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            isNamed = opened >= 0
        }
        descriptor = opened
        guard descriptor >= 0 else {
            let error = SystemError.current
            throw Failure(error.number == EACCES ? .notPermitted : .badInput, "cannot write \(path): \(error)")
        }
    }

    deinit {
        guard name != nil, descriptor >= 0 else { return }
        close(descriptor)
        if isNamed { unlink(partial) }
    }

    func write(_ text: String) throws(Failure) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure(.failed, "cannot write \(name ?? "the standard output"): \(SystemError.current)")
            }
            bytes = bytes.dropFirst(count)
        }
    }

    func finish() throws(Failure) {
        guard let name else { return }
        guard fsync(descriptor) == 0, isNamed || link(), rename(partial, name) == 0 else {
            throw Failure(.failed, "cannot write \(name): \(SystemError.current)")
        }
        isNamed = false
    }

    /// Gives the file its first name. A file without a name cannot replace another; a rename does that.
    private func link() -> Bool {
        unlink(partial)
        isNamed = linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, partial, AT_SYMLINK_FOLLOW) == 0
        return isNamed
    }
}
