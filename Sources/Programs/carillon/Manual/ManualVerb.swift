import Glibc
import PushLoop
import PushTime

/// `carillon manual`: writes the pages of the manual, which packages install.
enum ManualVerb {
    /// - Parameter verbs: Returns the verbs that have pages.
    static func verb(for verbs: @escaping @Sendable () -> [Verb]) -> Verb {
        Verb(
            name: "manual", summary: "write the manual pages to a directory",
            details: """
                The pages are made from the same declarations as --help: carillon(1), a page for each verb, and \
                carillon.json5(5) from the table of settings. The directory is made if it does not exist, and pages in it \
                are overwritten. The pages bear the date of the variable SOURCE_DATE_EPOCH if it is set, so that packages \
                can be built again with the same bytes.
                """,
            words: [Word("DIR", about: "the directory; man1 and man5 are made in it")], options: [],
            examples: [
                ("carillon manual /usr/local/share/man", "install the pages for all users"),
                ("carillon manual /tmp/man && man -M /tmp/man carillon-send", "read a page without installing it"),
            ]
        ) { arguments in
            let directory = arguments.word("DIR")
            let pages = ManualPage.all(
                verbs(), date: try date(getenv("SOURCE_DATE_EPOCH").map { String(cString: $0) }))
            for section in Set(pages.map(\.section)) { try make("\(directory)/man\(section)") }
            for page in pages { try write(page.text, to: "\(directory)/man\(page.section)/\(page.fileName)") }
            Terminal.output.write("Wrote \(pages.count) pages below \(directory).\n")
            return .done
        }
    }

    /// Returns the date of the pages.
    ///
    /// - Parameter epoch: The seconds since 1970, as in `SOURCE_DATE_EPOCH`; today if there are none.
    static func date(_ epoch: String?) throws(Failure) -> String {
        guard let epoch else { return String(WallTime.current().iso8601.prefix(10)) }
        guard let seconds = Int64(epoch), (0...253_402_300_799).contains(seconds) else {
            throw Failure(.usage, "SOURCE_DATE_EPOCH must be seconds since 1970")
        }
        return String(WallTime(milliseconds: seconds * 1000).iso8601.prefix(10))
    }

    /// Makes a directory and those above it.
    private static func make(_ path: String) throws(Failure) {
        var made = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            made += part
            guard mkdir(made, 0o755) == 0 || errno == EEXIST || errno == EROFS || access(made, F_OK) == 0 else {
                throw Failure(.notPermitted, "cannot make the directory \(made): \(SystemError.current)")
            }
            made += "/"
        }
    }

    private static func write(_ text: String, to path: String) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw Failure(.notPermitted, "cannot write \(path): \(SystemError.current); choose another directory")
        }
        do throws(SystemError) {
            defer { close(descriptor) }
            try FileCalls.write(Array(text.utf8), to: descriptor)
        } catch {
            throw Failure(.failed, "cannot write \(path): \(error)")
        }
    }
}
