import FoundationEssentials
import TestSupport
import TestTraits
import Testing

/// Tests that hold the books (`Documentation`, `README.md`) to the program, and of the site that `Tools/site` makes.
@Suite(.waits) struct BooksTests {
    private static let root: String = {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        return "/" + path.joined(separator: "/")
    }()

    /// The pages with commands that are run. One that is new needs no entry here.
    private static let pages: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/Documentation")) ?? []
        let files = ["README.md"] + names.sorted().filter { $0.hasSuffix(".md") }.map { "Documentation/\($0)" }
        return files.filter { name in
            let text = (try? String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)) ?? ""
            return text.contains("<!-- begins after: ") || text.contains("<!-- others begin here -->")
        }
    }()

    @Test(arguments: pages) func `The commands of a page do what it says`(page: String) async throws {
        try await PythonScene.run("books", "commands", variables: ["PAGE=\(page)"])
    }

    @Test func `Each command of the books is run, or has one of few reasons`() async throws {
        try await PythonScene.run("books", "skipped_commands")
        #expect(Self.pages.count >= 10, "\(Self.pages)")
    }

    @Test func `A command that fails, or shows something else, is found`() async throws {
        try await PythonScene.run("books", "failed_commands")
    }

    @Test func `Each alert has a section, and each figure its measurement`() async throws {
        try await PythonScene.run("books", "alerts_and_figures")
    }

    @Test func `Each file of the scenes has a line in their index`() async throws {
        try await PythonScene.run("books", "scene_index")
    }

    @Test func `The site has no broken link, and its checks find what they should`() async throws {
        for arguments in [["--self-test"], ["--check"]] {
            let ended = try await ChildProcess.run("\(Self.root)/Tools/site", arguments)
            #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        }
    }

    @Test(.long) func `The site is read in Chromium, from a file and below a path`() async throws {
        try await PythonScene.run("books_site", "pages")
    }

    @Test func `The search of the site finds pages by keyboard`() async throws {
        try await PythonScene.run("books_site", "search")
    }
}
