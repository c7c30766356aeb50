import PushServer
import PushStore
import PushText
import PushTransport
import PushWire

/// `carillon store import`: imports the data directory of a single node into a new store.
enum StoreImportVerb {
    static let verb = Verb(
        name: "store import", summary: "import the data directory of a single node into a new store",
        words: [Word("DIR", about: "the data directory, on which no Carillon may run"), StoreVerb.url],
        options: [StoreVerb.durability] + StoreVerb.options,
        examples: [
            (
                "carillon store import /var/lib/carillon postgres://carillon@db1,db2/carillon",
                "into the store that 'carillon store init' has made"
            )
        ],
        notes: """
            The store gets the devices, the API keys, the messages that wait or are
            scheduled, the keys by which repeated messages and deliveries are recognized,
            cancellations, paused apps, and the events. Events get new numbers in their
            partitions, so that monitors must read from the start. Webhooks go on where they
            stopped, and may deliver a few events again.

            If the import is interrupted, repeat it; no node can use the store before it
            ends. At its end, the directory is marked, and a single node does not start on
            it any more. A node of the cluster may use it.

            """ + StoreVerb.notes
    ) { arguments in
        let directory = arguments.word("DIR")
        return try await StoreVerb.run(arguments) { command in
            let summary = try await StoppedDirectory.locked(directory) {
                let sealing = try SealingKeyFile.read("\(directory)/api.key").flatMap { Base64URL.decode($0.text) }
                let webhooks = try ImportedWebhook.all(in: directory)
                return try await StoreImport(command.access, from: directory, sealing: sealing, webhooks: webhooks)
                    .run()
            }
            Terminal.output.write(
                arguments.has("json")
                    ? StoreAnswer.text(summary.facts, of: command, adding: members(summary))
                    : text(summary, from: directory, into: command))
            return .done
        }
    }

    private static func members(_ summary: StoreImport.Summary) -> [String: JSONValue?] {
        [
            "devices": .integer(Int64(summary.devices)), "api_keys": .integer(Int64(summary.keys)),
            "webhooks": .integer(Int64(summary.webhooks)),
            "waiting": .integer(Int64(summary.waiting)), "scheduled": .integer(Int64(summary.scheduled)),
            "events": .integer(Int64(summary.events)), "message_ids": .integer(Int64(summary.remembered)),
            "message_ids_in_all_partitions": .integer(Int64(summary.inAllPartitions)),
        ]
    }

    private static func text(
        _ summary: StoreImport.Summary, from directory: String, into command: StoreCommand
    ) -> String {
        """
        Imported \(directory) into \(command.name):
        \(PlainText.rows(
            [
                ("devices", "\(summary.devices)"), ("API keys", "\(summary.keys)"),
                ("webhooks", "\(summary.webhooks)"),
                ("waiting messages", "\(summary.waiting)"), ("scheduled messages", "\(summary.scheduled)"),
                ("events", "\(summary.events)"),
                (
                    "message ids",
                    "\(summary.remembered)"
                        + (summary.inAllPartitions > 0
                            ? ", of which \(summary.inAllPartitions) in all partitions" : "")
                ),
            ], on: Terminal.output))
        Start nodes with this store. A single node does not start on the directory any more.

        """
    }
}
