import Foundation
import PackagePlugin

/// Compiles the static files of the console into the program.
///
/// SwiftPM can embed files itself, as arrays of numbers, but the compiler needs a second for each kilobyte of them;
/// string literals cost nothing.
@main struct EmbedConsole: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let assets = target.directoryURL.appending(path: "Assets")
        let files = try FileManager.default.contentsOfDirectory(at: assets, includingPropertiesForKeys: nil)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
        let output = context.pluginWorkDirectoryURL.appending(path: "ConsoleFiles.swift")
        return [
            .buildCommand(
                displayName: "Embedding the console", executable: try context.tool(named: "ConsoleEmbedder").url,
                arguments: ([output] + files).map { $0.path(percentEncoded: false) }, inputFiles: files,
                outputFiles: [output])
        ]
    }
}
